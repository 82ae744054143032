# agentweb: make run, make test; `make help` says the rest.
SHELL := /bin/sh
UV_VERSION := 0.13.9
UV := .tools/uv/bin/uv
PY := .venv/bin/python
PORT ?= 8000
HOST ?= 127.0.0.1
# Cookies do not tell ports apart: a name per port keeps instances side by side signed in.
export AGENT_COOKIE ?= agentweb_$(PORT)
export UV_LINK_MODE ?= copy
export AGENT_DATA_DIR

.PHONY: help run run-scaled test link lock pictures clean setup

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

run: .venv/.run ## Set up and serve the product (PORT=8000, AGENT_DATA_DIR=.data)
	@exec $(PY) manage.py serve --host $(HOST) --port $(PORT)

run-scaled: .venv/.run ## Serve with PostgreSQL, Redis, Chroma, two web and two worker processes
	@HOST=$(HOST) PORT=$(PORT) exec scripts/run-scaled.sh

link: .venv/.run ## Print new one-time sign-in links
	@$(PY) manage.py signin_link --base http://$(HOST):$(PORT)

test: .venv/.dev ## Set up and run every check and test
	@scripts/test-services.sh
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) manage.py check
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m pytest -q
	scripts/with-services.sh --throwaway env AGENT_RUNNER=scaled $(PY) -m pytest -q tests/stories tests/scaled

setup: .venv/.run ## Only install what the product needs

$(UV):
	@echo "Getting uv $(UV_VERSION), which installs the rest ..."
	@python3 -m venv .tools/uv || { echo "python3 with venv is needed to begin (Debian: apt-get install python3-venv)." >&2; exit 1; }
	@.tools/uv/bin/python -m pip install -q --disable-pip-version-check uv==$(UV_VERSION)

.venv/bin/python: | $(UV)
	@found=$$(scripts/find-python.sh); echo "Making .venv with $${found:-a Python that uv fetches} ..."; \
	$(UV) venv -q --python "$${found:-3.12}" .venv || { echo "No Python 3.12, 3.13 or 3.14 was found. Install one, or name it: make run PYTHON=/path/to/python3.12" >&2; exit 1; }

.venv/.run: requirements.lock | .venv/bin/python
	@echo "Installing the product's packages ..."
	@$(UV) pip install -q --python $(PY) --require-hashes -r requirements.lock
	@touch $@

.venv/.dev: requirements.lock requirements-dev.lock | .venv/bin/python
	@echo "Installing the product's and the tests' packages ..."
	@$(UV) pip sync -q --python $(PY) --require-hashes requirements-dev.lock
	@touch $@ .venv/.run

lock: | $(UV) ## Renew both lock files from pyproject.toml
	$(UV) pip compile -q pyproject.toml --universal --python-version 3.12 --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements.lock
	$(UV) pip compile -q pyproject.toml --group dev --universal --python-version 3.12 --generate-hashes --no-header --no-annotate --no-emit-index-url -c requirements.lock -o requirements-dev.lock

pictures: .venv/.dev ## Take the pictures of the documentation anew
	$(PY) -m scripts.screenshots

messages: .venv/.run ## Collect the words of the interface and compile their translations
	@command -v msgfmt >/dev/null || { echo "GNU gettext is needed (Debian: apt-get install gettext)." >&2; exit 1; }
	$(PY) manage.py makemessages -l zh_Hans --no-wrap --add-location file --ignore .venv --ignore .tools --ignore tests
	msgfmt --check-format -o agentweb/locale/zh_Hans/LC_MESSAGES/django.mo agentweb/locale/zh_Hans/LC_MESSAGES/django.po

clean: ## Remove what setup made (not the data)
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis

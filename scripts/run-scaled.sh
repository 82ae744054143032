#!/bin/sh
# The scaled deployment on one machine: PostgreSQL, Redis, a Chroma server, two web and two worker processes, one port.
# `make run-scaled` calls it with HOST, PORT and, perhaps, AGENT_DATA_DIR. Ctrl-C ends all of it.
set -eu
cd "$(dirname "$0")/.."
export AGENT_DATA_DIR="${AGENT_DATA_DIR:-$PWD/.data}"
mkdir -p "$AGENT_DATA_DIR"
AGENT_DATA_DIR=$(cd "$AGENT_DATA_DIR" && pwd)
export AGENT_RUNNER=scaled PYTHON="$PWD/.venv/bin/python" PYTHONUNBUFFERED=1
# shellcheck disable=SC2016  # the addresses are known to the inner shell only
exec scripts/with-services.sh --chroma "$AGENT_DATA_DIR" sh -c '
    "$PYTHON" manage.py prepare || exit 1
    printf "\nagentweb is served on http://%s:%s by two web and two worker processes\n\n" "$HOST" "$PORT"
    "$PYTHON" manage.py signin_link --base "http://$HOST:$PORT"
    printf "\nPostgreSQL, Redis and Chroma keep their data in %s. Ctrl-C ends everything.\n\n" "$AGENT_DATA_DIR"
    exec .venv/bin/supervisord -n -c deploy/supervisord.conf -u "$(id -un)"
'

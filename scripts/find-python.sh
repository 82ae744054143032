#!/bin/sh
# Print the first Python 3.12-3.14 that really runs; nothing when there is none (uv then fetches one).
# A version manager's shim may be on the PATH and still refuse to run, so each candidate is started.
for python in "${PYTHON:-}" python3.13 python3.12 python3.14 \
    "${PYENV_ROOT:-/nonexistent}"/versions/3.1[2-4].*/bin/python "$HOME"/.pyenv/versions/3.1[2-4].*/bin/python \
    $(command -v pyenv >/dev/null 2>&1 && ls -d "$(pyenv root)"/versions/3.1[2-4].*/bin/python 2>/dev/null) python3; do
    [ -n "$python" ] || continue
    if "$python" -c 'import sys; sys.exit(not (3, 12) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
done

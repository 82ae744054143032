#!/bin/sh
# Run a command beside a PostgreSQL, a Redis and, if asked, a Chroma server of its own; stop them when it ends.
#
#     scripts/with-services.sh [--chroma] DIRECTORY COMMAND ...
#     scripts/with-services.sh --throwaway COMMAND ...
#
# They keep what they know in DIRECTORY, or for the length of a test, and listen on free ports of the loopback. The command finds them in
# AGENT_DATABASE_URL, AGENT_REDIS_URL and AGENT_CHROMA_URL. What is missing is installed, as root on Debian.
set -eu
cd "$(dirname "$0")/.."
chroma="" throwaway="" options=""
case "$1" in
--chroma) chroma=yes; shift ;;
--throwaway)
    shift
    throwaway=$(mktemp -d)
    set -- "$throwaway" "$@"
    options="-c fsync=off -c full_page_writes=off" # nothing of it has to outlive a power cut
    ;;
esac
mkdir -p "$1"
dir=$(cd "$1" && pwd)
shift

pg_bin() { # the newest version's programs: Debian keeps them off the PATH
    for found in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) "$(dirname "$(command -v postgres || echo /none/postgres)")"; do
        [ -x "$found/initdb" ] && [ -x "$found/postgres" ] && { echo "$found"; return; }
    done
}
missing=""
[ -n "$(pg_bin)" ] || missing="postgresql"
command -v redis-server >/dev/null 2>&1 || missing="$missing redis-server"
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "Installing:$missing" >&2
        apt-get update -qq
        # Without the service that Debian would start: this script starts its own.
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        echo "This needs: $missing. Install them (Debian: apt-get install $missing) and try again." >&2
        exit 1
    fi
fi
PATH="$(pg_bin):$PATH"

# PostgreSQL refuses to run as root: then the user that its package made runs it.
as_pg() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --init-groups "$@"; else "$@"; fi; }
pg=$dir/postgres
password=$dir/postgres_password
if [ "$(id -u)" = 0 ]; then
    chmod o+x "$dir"
    # A folder that this user cannot reach, such as one below /root: then a folder of the user's own.
    (cd / && as_pg test -x "$dir") || pg=/var/lib/postgresql/agentweb-$(printf %s "$dir" | cksum | cut -d' ' -f1)
fi
free_port() { .venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
log() { # what a server that did not start has said
    echo "$1 did not start:" >&2
    tail -n 20 "$2" >&2
    exit 1
}

child="" redis_pid="" chroma_pid=""
finish() {
    trap - EXIT INT TERM HUP
    [ -z "$child" ] || { kill -TERM "$child" 2>/dev/null && wait "$child" 2>/dev/null; } || :
    for pid in $chroma_pid $redis_pid; do kill "$pid" 2>/dev/null && wait "$pid" || :; done
    (cd / && as_pg pg_ctl -D "$pg" -m fast -w stop) >/dev/null 2>&1 || :
    [ -z "$throwaway" ] || rm -rf "$throwaway" "$pg"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [ ! -f "$pg/PG_VERSION" ]; then
    if [ "$(id -u)" = 0 ]; then install -d -m 700 -o postgres -g postgres "$pg"; else install -d -m 700 "$pg"; fi
    (umask 077 && .venv/bin/python -c 'import secrets; print(secrets.token_urlsafe(24))' >"$password")
    # The password goes in by a pipe of that user's own: the file is for the owner of the data directory alone.
    (cd / && as_pg sh -c 'cat | initdb -D "$0" -U agentweb -A scram-sha-256 --pwfile=/dev/stdin -E UTF8 --locale=C.UTF-8 \
        --no-instructions' "$pg") <"$password" >/dev/null
fi
PGPASSWORD=$(cat "$password")
export PGPASSWORD
port=$(free_port)
# TCP of the loopback alone, no socket in a shared folder.
options="-h 127.0.0.1 -p $port -c unix_socket_directories='' -c max_connections=200 $options"
(cd / && as_pg pg_ctl -D "$pg" -w -t 60 -l "$pg/server.log" -o "$options" start) >/dev/null || log PostgreSQL "$pg/server.log"
database() { "$1" -h 127.0.0.1 -p "$port" -U agentweb "$2" ${3:+"$3" "$4"}; }
database psql postgres -tAc "SELECT 1 FROM pg_database WHERE datname = 'agentweb'" | grep -q 1 || database createdb agentweb
export AGENT_DATABASE_URL="postgresql://agentweb:$PGPASSWORD@127.0.0.1:$port/agentweb"

port=$(free_port)
setsid redis-server --bind 127.0.0.1 --port "$port" --save "" --appendonly no --dir "$dir" >"$dir/redis.log" 2>&1 &
redis_pid=$!
export AGENT_REDIS_URL="redis://127.0.0.1:$port/0"
if [ -n "$chroma" ]; then
    chroma_port=$(free_port)
    setsid .venv/bin/chroma run --host 127.0.0.1 --port "$chroma_port" --path "$dir/chroma-server" >"$dir/chroma.log" 2>&1 &
    chroma_pid=$!
    export AGENT_CHROMA_URL="http://127.0.0.1:$chroma_port"
fi
tries=0
until redis-cli -p "$port" ping >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || log Redis "$dir/redis.log"
    sleep 0.1
done

"$@" &
child=$!
status=0
wait "$child" || status=$?
child=""
exit "$status"

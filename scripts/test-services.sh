#!/bin/sh
# What the browser tests need beside Python: Chromium and a font with Chinese characters.
set -eu
missing=""
command -v chromium >/dev/null 2>&1 || missing="chromium"
[ -n "$(fc-list :lang=zh 2>/dev/null | head -n 1)" ] || missing="$missing fonts-noto-cjk"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing for the browser tests:$missing"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "The browser tests need:$missing. Install them (Debian: apt-get install$missing) and run make test again." >&2
    exit 1
fi

#!/bin/sh
# Debian: "remove" or "upgrade". rpm: how many of the package are left.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
command -v systemctl >/dev/null || exit 0
if [ -d /run/systemd/system ]; then systemctl stop troupe.service || true; fi
systemctl disable troupe.service >/dev/null 2>&1 || true

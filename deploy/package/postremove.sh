#!/bin/sh
# Removing leaves settings and data. Purging, which only Debian has, takes them, too.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
[ "$1" = purge ] || exit 0
rm -rf /var/lib/troupe /etc/troupe
if getent passwd troupe >/dev/null; then userdel troupe; fi
if getent group troupe >/dev/null; then groupdel troupe; fi

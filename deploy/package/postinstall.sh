#!/bin/sh
# Debian calls this with "configure" and the version before, if there was one; rpm with how many
# of the package are there then.
set -e
case "$1" in
configure) first=$([ -z "$2" ] && echo yes || echo no); deb=yes ;;
1) first=yes; deb=no ;;
[0-9]*) first=no; deb=no ;;
*) exit 0 ;;
esac

getent group troupe >/dev/null || groupadd --system troupe
getent passwd troupe >/dev/null ||
	useradd --system --gid troupe --home-dir /var/lib/troupe --no-create-home --shell /usr/sbin/nologin troupe
[ -d /var/lib/troupe ] || install -d -m 0700 -o troupe -g troupe /var/lib/troupe

command -v systemctl >/dev/null || exit 0
if [ "$first" = yes ] && [ "$deb" = yes ]; then # as Debian does with all services
	systemctl enable troupe.service >/dev/null 2>&1 || true
fi
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ "$first" = yes ]; then
	[ "$deb" = no ] || systemctl start troupe.service || echo "troupe did not start: journalctl -u troupe says why" >&2
else # running tasks end first, and those in the queue stay in it
	systemctl try-restart troupe.service || echo "troupe did not start again: journalctl -u troupe says why" >&2
fi

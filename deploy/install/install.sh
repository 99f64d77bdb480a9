#!/bin/sh
# Installs troupe: checks the archive of this system and puts the program into a folder.
#   DOWNLOAD  address of the releases   VERSION  which one   PREFIX  where to
set -eu
DOWNLOAD=${DOWNLOAD:-@DOWNLOAD@}
VERSION=${VERSION:-@VERSION@}
if [ -z "${PREFIX:-}" ]; then
	if [ "$(id -u)" -eq 0 ]; then PREFIX=/usr/local; else PREFIX=$HOME/.local; fi
fi
fail() { echo "install.sh: $*" >&2; exit 1; }
[ -n "$DOWNLOAD" ] || fail "set DOWNLOAD to the address of the releases"
case "$(uname -s)" in Linux) os=linux ;; Darwin) os=darwin ;; *) fail "there is no archive for $(uname -s)" ;; esac
case "$(uname -m)" in x86_64 | amd64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) fail "there is no archive for $(uname -m)" ;; esac
name=troupe_${VERSION}_${os}_$arch.tar.gz
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for file in "$name" checksums.txt; do
	curl -fsSL "$DOWNLOAD/$VERSION/$file" -o "$dir/$file" || fail "cannot download $DOWNLOAD/$VERSION/$file"
done
grep "  $name\$" "$dir/checksums.txt" >"$dir/checksum" || fail "checksums.txt does not name $name"
if command -v sha256sum >/dev/null; then sum="sha256sum -c"; else sum="shasum -a 256 -c"; fi
(cd "$dir" && $sum checksum >/dev/null) || fail "$name is damaged: its checksum is another one"
tar -xzf "$dir/$name" -C "$dir"
mkdir -p "$PREFIX/bin" "$PREFIX/share/man/man1"
install -m 0755 "$dir/${name%.tar.gz}/troupe" "$PREFIX/bin/troupe"
install -m 0644 "$dir/${name%.tar.gz}"/man/*.1 "$PREFIX/share/man/man1"
"$PREFIX/bin/troupe" version
case ":$PATH:" in *":$PREFIX/bin:"*) ;; *) echo "Add $PREFIX/bin to your PATH." ;; esac

#!/usr/bin/env bash
# Provides the browser that the console is tested in: Debian's chromium with a font, where there is no Chromium or Chrome on the PATH. Does nothing when it is there already.
set -euo pipefail

packages=(chromium fonts-dejavu-core)

say() { echo "chromium: $*" >&2; }
die() {
	say "$@"
	exit 1
}

for b in chromium chromium-browser google-chrome google-chrome-stable; do
	command -v "$b" >/dev/null && exit 0
done
source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"
install_packages "Chromium or Chrome on the PATH for the console's test" "${packages[@]}"
command -v chromium >/dev/null || die "Debian's package is installed, but there is no chromium on the PATH"

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
command -v apt-get >/dev/null || die "the console's test needs Chromium or Chrome on the PATH, or a Debian system to get it from (packages: ${packages[*]})"
sudo=()
if ((EUID != 0)); then
	command -v sudo >/dev/null || die "run as root: apt-get install ${packages[*]}"
	sudo=(sudo)
fi
say "installing from Debian: ${packages[*]}"
"${sudo[@]}" apt-get update -qq || die "apt-get update failed"
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null ||
	die "apt-get could not install ${packages[*]}"
command -v chromium >/dev/null || die "Debian's package is installed, but there is no chromium on the PATH"

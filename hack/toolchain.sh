#!/usr/bin/env bash
# Provides the compiler that plugins are built with: _output/toolchain/tinygo, and target.json beside it.
#
# A TinyGo of 0.41 or newer on the PATH is used as it is. Otherwise TinyGo is built from its Go module (pinned in hack/tinygo/go.mod)
# against Debian's LLVM (and Binaryen, whose wasm-opt it calls). The module lacks TinyGo's git submodules, so the target links Debian's prebuilt wasi-libc and compiler-rt.
# Does nothing when everything is there already.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
here=$root/hack/tinygo
target=$root/author/build/target.json
out=$root/_output/toolchain

llvm=19
# What the tests build modules with: wasm-as, and a C compiler.
others=(binaryen clang-$llvm lld-$llvm)
packages=(llvm-$llvm-dev libclang-$llvm-dev "${others[@]}" libclang-rt-$llvm-dev-wasm32 wasi-libc)
libc=/usr/lib/wasm32-wasi/libc.a
builtins=/usr/lib/llvm-$llvm/lib/clang/$llvm/lib/wasi/libclang_rt.builtins-wasm32.a

say() { echo "toolchain: $*" >&2; }
die() {
	say "$@"
	exit 1
}
source "$root/hack/debian.sh"

# The stamp names what the present toolchain was made from; a change of any of it makes a new one.
stamp=$(cat "${BASH_SOURCE[0]}" "$here/go.mod" "$target" | sha256sum | cut -d' ' -f1)-$(go env GOVERSION)
if [[ -x $out/tinygo && $(cat "$out/stamp" 2>/dev/null) == "$stamp" ]]; then
	exit 0
fi
mkdir -p "$out"
# Two builds at once, as from two terminals, take turns.
exec 9>"$out/lock"
flock 9
[[ -x $out/tinygo && $(cat "$out/stamp" 2>/dev/null) == "$stamp" ]] && exit 0
rm -f "$out/stamp"

# installed prints the TinyGo on the PATH if it is new enough.
installed() {
	local tinygo version
	tinygo=$(command -v tinygo) || return 1
	version=$("$tinygo" version | sed -nE 's/^tinygo version ([0-9]+\.[0-9]+).*/\1/p')
	[[ -n $version && $(printf '%s\n' 0.41 "$version" | sort -V | head -1) == 0.41 ]] || return 1
	echo "$tinygo"
}

if tinygo=$(installed); then
	say "using $tinygo"
	if ! command -v wasm-as >/dev/null || ! command -v clang-$llvm >/dev/null || ! command -v wasm-ld-$llvm >/dev/null; then
		install_packages "wasm-as, clang-$llvm and wasm-ld-$llvm on the PATH" "${others[@]}"
	fi
	printf '#!/bin/sh\nexec %q "$@"\n' "$tinygo" >"$out/tinygo.new"
	cp "$target" "$out/target.json"
else
	install_packages "TinyGo 0.41 or newer, wasm-as, clang-$llvm and wasm-ld-$llvm on the PATH" "${packages[@]}"
	for f in "$libc" "$builtins"; do
		[[ -f $f ]] || die "$f is missing although its Debian package is installed"
	done
	say "building TinyGo $(cd "$here" && go list -m -f '{{.Version}}' github.com/tinygo-org/tinygo) (a minute)"
	mkdir -p "$out/bin"
	(cd "$here" && CGO_ENABLED=1 go build -tags llvm$llvm -o "$out/bin/tinygo" github.com/tinygo-org/tinygo) || die "building TinyGo failed"
	rm -rf "$out/root"
	cp -r "$(cd "$here" && go list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)" "$out/root"
	chmod -R u+w "$out/root"
	mkdir -p "$out/root/src/net" # a submodule; empty will do, as Go's own net is merged in
	ln -sf "/usr/bin/wasm-ld-$llvm" "$out/bin/wasm-ld"
	printf '#!/bin/sh\nTINYGOROOT=%q PATH=%q:$PATH exec %q "$@"\n' "$out/root" "$out/bin" "$out/bin/tinygo" >"$out/tinygo.new"
	# A shell's field for a JSON file: these values are on lines of their own in it.
	sed -e 's|"libc": "wasmbuiltins"|"libc": ""|' -e 's|"rtlib": "compiler-rt"|"rtlib": ""|' \
		-e "s|\"--no-entry\"\]|\"--no-entry\", \"$libc\", \"$builtins\"]|" "$target" >"$out/target.json"
	grep -qF "$libc" "$out/target.json" || die "$target no longer has the ldflags that this script extends"
fi
chmod +x "$out/tinygo.new"
mv "$out/tinygo.new" "$out/tinygo"
"$out/tinygo" version >/dev/null || die "$out/tinygo does not run"
echo "$stamp" >"$out/stamp"
say "ready: $("$out/tinygo" version)"

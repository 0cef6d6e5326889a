#!/usr/bin/env bash
# Runs every fuzz target of the repository for FUZZTIME each (10s by default), one after another; PACKAGES narrows it to some, such as ./abi/...
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${FUZZTIME:-10s}

# Only packages with a target in their source are built for listing.
mapfile -t packages < <(go list -f '{{$dir := .Dir}}{{range .TestGoFiles}}{{$dir}}/{{.}}:{{$.ImportPath}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$dir}}/{{.}}:{{$.ImportPath}}{{"\n"}}{{end}}' ${PACKAGES:-./...} |
	while IFS=: read -r file package; do
		[[ -z $file ]] || ! grep -q '^func Fuzz' "$file" || echo "$package"
	done | sort -u)
targets=()
for p in "${packages[@]}"; do
	list=$(go test -list '^Fuzz' "$p") # before the loop: a failure here must not pass for "no targets"
	while read -r target; do
		targets+=("$p $target")
	done < <(grep '^Fuzz' <<<"$list")
done
echo "fuzz: ${#targets[@]} targets in ${#packages[@]} packages, $time each" >&2
failed=()
n=0
for t in "${targets[@]}"; do
	read -r package target <<<"$t"
	n=$((n + 1))
	echo "fuzz: $n/${#targets[@]} $package $target" >&2
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x -parallel "${FUZZPROCS:-$(nproc)}" "$package" || failed+=("$package $target")
done
if ((${#failed[@]})); then
	printf 'fuzz: FAILED %s\n' "${failed[@]}" >&2
	exit 1
fi
echo "fuzz: all ${#targets[@]} targets hold" >&2

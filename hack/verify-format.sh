#!/usr/bin/env bash
# Fails when a Go file isn't as gofmt writes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.go')
existing=()
for f in "${files[@]}"; do
	[[ -f $f ]] && existing+=("$f")
done
bad=$(gofmt -l "${existing[@]}")
if [[ -n $bad ]]; then
	printf 'verify: run gofmt -w on:\n%s\n' "$bad" >&2
	exit 1
fi

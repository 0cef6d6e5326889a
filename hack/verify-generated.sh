#!/usr/bin/env bash
# Fails when make generate changes a file, which it leaves written anew: what remains is to commit it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# sums prints every file of the repository that git doesn't ignore, with its checksum.
sums() {
	git ls-files -z --cached --others --exclude-standard | sort -zu | xargs -0 sh -c 'for f; do [ -f "$f" ] && sha256sum "$f"; done; true' sh
}

before=$(sums)
make --no-print-directory generate
if ! stale=$(diff <(echo "$before") <(sums)); then
	echo "verify: these generated files were stale and have been written anew:" >&2
	sed -nE 's/^> [0-9a-f]+ +//p; s/^< [0-9a-f]+ +(.*)/\1/p' <<<"$stale" | sort -u >&2
	exit 1
fi

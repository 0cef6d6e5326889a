#!/bin/sh
# Builds default-deny.wasm with clang and lld (Debian: clang-19, lld-19), no library at all.
set -e
cd "$(dirname "$0")"
"${CLANG:-clang-19}" --target=wasm32 -std=c23 -Os -mbulk-memory -nostdlib -Wall -Wextra -Werror -Wl,--no-entry -Wl,--strip-all -o "${1:-default-deny.wasm}" plugin.c

// Memory for one sync. The host puts all of it back before the next one, so nothing is ever freed.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern uint8_t __heap_base; // from the linker: behind the stack and the constants

static uint8_t *heap = &__heap_base;

static uint8_t *allocate(size_t size) {
	const size_t page = 64 << 10;
	uint8_t *at = heap;
	if (size > SIZE_MAX - (uintptr_t)at - page) {
		__builtin_trap();
	}
	heap += size;
	size_t have = __builtin_wasm_memory_size(0) * page;
	if ((uintptr_t)heap > have && __builtin_wasm_memory_grow(0, ((uintptr_t)heap - have + page - 1) / page) == (size_t)-1) {
		__builtin_trap(); // the operator's limit: this key's sync fails, and is tried again later
	}
	return at;
}

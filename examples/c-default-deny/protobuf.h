// A reader and a writer of protobuf, as much of it as a plugin needs. What can't be read traps: the host only sends what can.
#pragma once

#include <stdbool.h>

#include "memory.h"

// Bytes belong to somebody else.
struct bytes {
	const uint8_t *at;
	size_t length;
};

#define TEXT(literal) ((struct bytes){(const uint8_t *)(literal), sizeof(literal) - 1})

static bool equal(struct bytes a, struct bytes b) {
	if (a.length != b.length) {
		return false;
	}
	for (size_t i = 0; i < a.length; i++) {
		if (a.at[i] != b.at[i]) {
			return false;
		}
	}
	return true;
}

// A reader stands at one field of a message. Fields that it is never asked for are so skipped.
struct reader {
	struct bytes rest;
	uint32_t number;    // of the field; 0 before the first
	uint64_t value;     // of a varint or a fixed number
	struct bytes bytes; // of a string, bytes, or a message
};

static struct reader read(struct bytes message) { return (struct reader){.rest = message}; }

static struct bytes take(struct reader *r, uint64_t length) {
	if (length > r->rest.length) {
		__builtin_trap();
	}
	struct bytes taken = {r->rest.at, (size_t)length};
	r->rest.at += length;
	r->rest.length -= length;
	return taken;
}

static uint64_t take_varint(struct reader *r) {
	uint64_t value = 0;
	for (int shift = 0; shift < 64; shift += 7) {
		uint8_t b = *take(r, 1).at;
		value |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			return value;
		}
	}
	__builtin_trap();
}

// next goes to the next field; false at the end.
static bool next(struct reader *r) {
	if (r->rest.length == 0) {
		return false;
	}
	uint64_t tag = take_varint(r);
	r->number = (uint32_t)(tag >> 3);
	r->value = 0;
	r->bytes = (struct bytes){0};
	switch (tag & 7) {
	case 0:
		r->value = take_varint(r);
		break;
	case 1:
		r->bytes = take(r, 8);
		break;
	case 2:
		r->bytes = take(r, take_varint(r));
		break;
	case 5:
		r->bytes = take(r, 4);
		break;
	default:
		__builtin_trap();
	}
	return true;
}

// find gives the last field of that number, as protobuf has it, or one without bytes.
static struct bytes find(struct bytes message, uint32_t number) {
	struct bytes found = {0};
	for (struct reader r = read(message); next(&r);) {
		if (r.number == number) {
			found = r.bytes;
		}
	}
	return found;
}

// has tells whether there is a field of that number.
static bool has(struct bytes message, uint32_t number) {
	for (struct reader r = read(message); next(&r);) {
		if (r.number == number) {
			return true;
		}
	}
	return false;
}

// entry gives the value of a key in a map, which is a list of messages with key and value.
static struct bytes entry(struct bytes message, uint32_t number, struct bytes key) {
	struct bytes found = {0};
	for (struct reader r = read(message); next(&r);) {
		if (r.number == number && equal(find(r.bytes, 1), key)) {
			found = find(r.bytes, 2);
		}
	}
	return found;
}

// A message that is being written.
struct message {
	uint8_t *at;
	size_t length, room;
};

static struct bytes written(struct message *m) { return (struct bytes){m->at, m->length}; }

static void put(struct message *m, struct bytes b) {
	if (b.length > m->room - m->length) {
		size_t room = 2 * (m->length + b.length);
		uint8_t *at = allocate(room);
		__builtin_memcpy(at, m->at, m->length);
		m->at = at;
		m->room = room;
	}
	__builtin_memcpy(m->at + m->length, b.at, b.length);
	m->length += b.length;
}

static void put_varint(struct message *m, uint64_t value) {
	uint8_t b[10];
	size_t n = 0;
	for (; value >= 0x80; value >>= 7) {
		b[n++] = (uint8_t)value | 0x80;
	}
	b[n++] = (uint8_t)value;
	put(m, (struct bytes){b, n});
}

static void put_number(struct message *m, uint32_t number, uint64_t value) {
	put_varint(m, (uint64_t)number << 3);
	put_varint(m, value);
}

static void put_bytes(struct message *m, uint32_t number, struct bytes b) {
	put_varint(m, (uint64_t)number << 3 | 2);
	put_varint(m, b.length);
	put(m, b);
}

static void put_entry(struct message *m, uint32_t number, struct bytes key, struct bytes value) {
	struct message e = {0};
	put_bytes(&e, 1, key);
	put_bytes(&e, 2, value);
	put_bytes(m, number, written(&e));
}

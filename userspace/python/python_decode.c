/* SPDX-License-Identifier: Apache-2.0 */
/* python_decode.c - decodes line tables and strings of CPython. */
#include <limits.h>
#include <string.h>

#include "userspace/base/utf8.h"
#include "userspace/python/python_private.h"

static int python_line_valid(int64_t line)
{
	return line > 0 && line < INT_MAX ? (int)line : 0;
}

/* Reads a table of CPython 3.8 or 3.9. It has pairs of bytes: code bytes to add (unsigned), lines
 * to add (signed). The line changes after the code bytes of the pair. */
static int python_line_lnotab(const uint8_t *table, size_t size, int64_t line, int64_t at)
{
	int64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return python_line_valid(line);
}

/* Reads a table of CPython 3.10: pairs as in python_line_lnotab(), but the line changes before the
 * code bytes of the pair, and -128 is a range without a line. */
static int python_line_linetable(const uint8_t *table, size_t size, int64_t line, int64_t at)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		bool none = (int8_t)table[i + 1] == -128;

		end += table[i];
		line += none ? 0 : (int8_t)table[i + 1];
		if (at < end)
			return none ? 0 : python_line_valid(line);
	}
	return 0;
}

/* Reads a number in pieces of six bits, lowest first. The lowest bit of the number is its sign. */
static int64_t python_line_svarint(const uint8_t *bytes, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size && i < 6; i++) {
		value |= (uint64_t)(bytes[i] & 0x3f) << (6 * i);
		if (!(bytes[i] & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Reads a table of CPython 3.11 or later. The first byte of each entry has its highest bit set,
 * then kind (4 bits) and length in instructions, less one (3 bits). */
static int python_line_locations(const uint8_t *table, size_t size, int64_t line, int64_t at)
{
	enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
	int64_t end = 0;

	for (size_t i = 0; i < size;) {
		uint8_t head = table[i++];
		int kind = head >> 3 & 15;

		if (!(head & 0x80))
			return 0;
		end += 2 * ((head & 7) + 1);
		if (kind == NO_COLUMNS || kind == LONG)
			line += python_line_svarint(table + i, size - i);
		else if (kind >= ONE_LINE && kind < NO_COLUMNS)
			line += kind - ONE_LINE;
		if (at < end)
			return kind == NONE ? 0 : python_line_valid(line);
		while (i < size && !(table[i] & 0x80))
			i++;
	}
	return 0;
}

int python_line(enum python_lines format, const uint8_t *table, size_t size, int first, int64_t at)
{
	if (at < 0)
		return python_line_valid(first);
	switch (format) {
	case PYTHON_LNOTAB:
		return python_line_lnotab(table, size, first, at);
	case PYTHON_LINETABLE:
		return python_line_linetable(table, size, first, at);
	case PYTHON_LOCATIONS:
		return python_line_locations(table, size, first, at);
	}
	return 0;
}

static size_t python_text_encode(uint32_t c, char bytes[4])
{
	if (c < 0x80) {
		bytes[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	bytes[0] = (char)(0xf0 | c >> 18);
	bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
	bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
	bytes[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

void python_text(char *ret, size_t cap, const void *units, unsigned int kind, size_t count)
{
	const uint8_t *at = units;
	size_t len = 0, n;

	for (size_t i = 0; i < count; i++, at += kind) {
		uint32_t c = 0;
		uint16_t c2;
		char bytes[4];

		if (kind == 1) {
			c = *at;
		} else if (kind == 2) {
			memcpy(&c2, at, sizeof(c2));
			c = c2;
		} else {
			memcpy(&c, at, sizeof(c));
		}
		/* CPython represents a byte of a file name that is not UTF-8 by half a surrogate
		 * pair. */
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || utf8_columns(c) < 0)
			c = '?';
		n = python_text_encode(c, bytes);
		if (len + n >= cap)
			break;
		memcpy(ret + len, bytes, n);
		len += n;
	}
	ret[len] = '\0';
}

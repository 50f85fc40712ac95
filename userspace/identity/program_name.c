/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/program_name.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CACHED_DEPTH 3 /* limit of protocol buffer messages that are nested around a module */

static const char attribute[] = "num_replicas"; /* compared with its terminating NUL */

static bool program_name_letter_ok(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-' || c == '$' || c == '<' || c == '>';
}

/* Returns the length of the program name at code; 0: there is no valid name. */
static size_t name_length(const char *code, size_t len)
{
	size_t n = 0;

	while (n < len && n < PROGRAM_NAME_MAX && program_name_letter_ok(code[n]))
		n++;
	if (n == PROGRAM_NAME_MAX || !n || (code[0] >= '0' && code[0] <= '9'))
		return 0;
	return n;
}

static bool name_take(struct program_name *n, const char *name, size_t len, bool sure)
{
	if (!len)
		return false;
	memcpy(n->name, name, len);
	n->name[len] = '\0';
	n->sure = sure;
	return true;
}

bool program_name_take(struct program_name *n, const char *name, size_t len)
{
	return name_length(name, len) == len && name_take(n, name, len, true);
}

static bool program_name_content_has(const char *code, size_t len, const char *text)
{
	return memmem(code, len, text, strlen(text));
}

void program_content_scan(struct program_name *n, const char *code, size_t len)
{
	if (n->gradient || !len)
		return;
	n->gradient = program_name_content_has(code, len, "transpose(jvp") ||
		      program_name_content_has(code, len, "gradient_tape/");
	n->ops_named |= n->gradient || program_name_content_has(code, len, "jit(") ||
			program_name_content_has(code, len, "pmap(");
}

/* Returns the length of a string in bytecode, including its terminator; 0: the string is not the
 * name of a module ("main" is that of a function). */
static size_t program_name_string_length(const char *code, size_t len)
{
	size_t n = name_length(code, len);

	if (n == len || code[n] || (n == 4 && !memcmp(code, "main", 4)))
		return 0;
	return n;
}

static void program_name_bytecode_scan(struct program_name *n, const char *code, size_t len)
{
	static const char *const jitted[] = {"jit_", "pjit_", "pmap_", "xmap_"};
	const char *at = code, *end = code + len;

	while ((at = memmem(at, (size_t)(end - at), attribute, sizeof(attribute)))) {
		at += sizeof(attribute);
		if (name_take(n, at, program_name_string_length(at, (size_t)(end - at)), true))
			return;
	}
	for (at = code; !n->name[0] && (at = memchr(at, 0, (size_t)(end - at)));)
		for (size_t i = 0, left = (size_t)(end - ++at);
		     i < sizeof(jitted) / sizeof(jitted[0]); i++)
			if (left > strlen(jitted[i]) && !memcmp(at, jitted[i], strlen(jitted[i])))
				name_take(n, at, program_name_string_length(at, left), false);
}

/* Returns the length of the first field of a protocol buffer message if the field has this number
 * and contains bytes; otherwise 0. */
static uint64_t program_name_field_of(unsigned int number, const char *code, size_t len,
				      const char **ret)
{
	uint64_t bytes = 0;
	size_t at = 1;

	if (len < 2 || (uint8_t)code[0] != (number << 3 | 2))
		return 0;
	for (unsigned int shift = 0; at < len && shift < 35; shift += 7) {
		uint8_t byte = (uint8_t)code[at++];

		bytes |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		*ret = code + at;
		return bytes;
	}
	return 0;
}

static size_t program_name_field_bytes(const char *code, size_t len, const char **ret)
{
	return program_name_field_of(1, code, len, ret);
}

/* Scans an HloModuleProto, or an HloModuleProtoWithConfig, whose first field is an
 * HloModuleProto. */
static void program_name_proto_scan(struct program_name *n, const char *code, size_t len)
{
	const char *end = code + len, *at;

	for (int depth = 0; depth < 2; depth++) {
		size_t bytes = program_name_field_bytes(code, (size_t)(end - code), &at);

		if (!bytes)
			return;
		if (bytes <= (size_t)(end - at) && name_length(at, bytes) == bytes) {
			name_take(n, at, bytes, true);
			return;
		}
		code = at;
	}
}

/* Scans MLIR text: "module @jit_f attributes {...". */
static void program_name_text(struct program_name *n, const char *code, size_t len)
{
	static const char module[] = "module @";
	const char *at = memmem(code, len < 4096 ? len : 4096, module, sizeof(module) - 1);

	if (at)
		at += sizeof(module) - 1;
	if (at)
		name_take(n, at, name_length(at, (size_t)(code + len - at)), true);
}

void program_name_scan(struct program_name *n, const char *code, size_t len, bool first)
{
	/* Begin of MLIR bytecode: mlir/docs/BytecodeFormat.md. */
	static const char bytecode[] = {'M', 'L', '\xef', 'R'};

	program_content_scan(n, code, len);
	if (n->sure || !len)
		return;
	if (!first || (len >= sizeof(bytecode) && !memcmp(code, bytecode, sizeof(bytecode)))) {
		program_name_bytecode_scan(n, code, len);
		return;
	}
	program_name_proto_scan(n, code, len);
	if (!n->sure)
		program_name_text(n, code, len);
	n->sure = true; /* no later byte changes the name */
}

struct piece { /* a protocol buffer message, of which the bytes up to `end` have been read */
	const char *at, *end;
	uint64_t left;
};

/* Sets *ret to the contents of the next field, if the field has this number and is a message or a
 * text. */
static bool program_name_field_enter(const struct piece *p, unsigned int number, struct piece *ret)
{
	size_t here = (size_t)(p->end - p->at);
	const char *at;
	uint64_t bytes = program_name_field_of(number, p->at,
					       here < p->left ? here : (size_t)p->left, &at);

	if (!bytes || bytes > p->left - (uint64_t)(at - p->at))
		return false;
	*ret = (struct piece){at, p->end, bytes};
	return true;
}

/* Sets *ret to the next field if the field is a name and has been read completely. Moves to the
 * field after it. */
static bool program_name_field_name(struct piece *p, unsigned int number, struct piece *ret)
{
	if (!program_name_field_enter(p, number, ret) || ret->left > (uint64_t)(p->end - ret->at) ||
	    name_length(ret->at, (size_t)ret->left) != ret->left)
		return false;
	p->left -= (uint64_t)(ret->at - p->at) + ret->left;
	p->at = ret->at + ret->left;
	return true;
}

/* Takes the name of an HloModuleProto. The message must have a name, the name of its entry, and
 * computations that begin with a name: other formats may also begin with a text. */
static bool program_name_module(struct program_name *n, struct piece module)
{
	struct piece name, entry, computation, first;

	return program_name_field_name(&module, 1, &name) &&
	       program_name_field_name(&module, 2, &entry) &&
	       program_name_field_enter(&module, 3, &computation) &&
	       program_name_field_name(&computation, 1, &first) &&
	       name_take(n, name.at, (size_t)name.left, true);
}

/* Finds the module in an ExecutableAndOptionsProto: the first field of that message is the
 * compiler's output, whose first field is an HloModuleProtoWithConfig, whose first field is the
 * module. */
void program_name_cached(struct program_name *n, const char *code, size_t len, uint64_t bytes)
{
	struct piece p = {code, code + len, bytes};

	for (int depth = 0; !program_name_module(n, p) && depth < CACHED_DEPTH; depth++) {
		if (!program_name_field_enter(&p, 1, &p))
			break;
	}
	n->sure = true; /* no later byte changes the name */
}

int program_code_scan(program_read *read, void *ctx, uint64_t code, uint64_t bytes, bool cached,
		      struct program_name *ret)
{
	uint64_t at = 0, most = bytes < PROGRAM_CODE_MAX ? bytes : PROGRAM_CODE_MAX;
	char *piece = malloc(PROGRAM_CODE_PIECE);
	size_t held = 0; /* bytes kept from the previous piece */

	*ret = (struct program_name){0};
	if (!piece)
		return -ENOMEM;
	while (at < most && !(ret->sure && ret->gradient)) {
		uint64_t room = PROGRAM_CODE_PIECE - held;
		size_t n = read(ctx, code + at, piece + held, most - at < room ? most - at : room);

		if (!n)
			break;
		if (!cached) {
			program_name_scan(ret, piece, held + n, !at);
		} else {
			if (!at) /* in a compiled program, only the first piece has the name */
				program_name_cached(ret, piece, n, bytes);
			program_content_scan(ret, piece, held + n);
		}
		at += n;
		held += n;
		if (held > PROGRAM_NAME_OVERLAP) {
			memmove(piece, piece + held - PROGRAM_NAME_OVERLAP, PROGRAM_NAME_OVERLAP);
			held = PROGRAM_NAME_OVERLAP;
		}
	}
	ret->ops_named &= at >= bytes || ret->gradient;
	free(piece);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "loader/probe/probe_check.h"

#define MAX_HZ_MAX 1000000
#define HIT_ARGS   2 /* limit of values in the record of a hit (struct gp_hit, gp_named) */
/* Least number of bytes of a text in key `texts`: a shorter text may occur anywhere in a file */
#define TEXT_LEAST 8
#define TEXT_MOST  95

bool probe_name_ok(const char *name, size_t size)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len && !name[len] && len < size;
}

static int probe_check_fault(struct probe_fault *f, const char *field, const char *what)
{
	f->field = field;
	snprintf(f->what, sizeof(f->what), "%s", what);
	return -EINVAL;
}

/* Libraries that every process maps: a probe there would slow the whole host. */
static const char *const shared_by_all[] = {
	"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libstdc++.so.6",
	"libm.so.6", "libpthread.so.0",	     "libgcc_s.so.1",	      "libdl.so.2"};

static int check_libraries(const struct probe_row *row, struct probe_fault *f)
{
	for (size_t i = 0; row->libraries[i]; i++) {
		if (strchr(row->libraries[i], '/'))
			return probe_check_fault(f, "libraries",
						 "contains '/', but only file names are compared");
		for (size_t j = 0; j < sizeof(shared_by_all) / sizeof(shared_by_all[0]); j++)
			if (!fnmatch(row->libraries[i], shared_by_all[j], 0))
				return probe_check_fault(
					f, "libraries",
					"matches a library that every process maps");
	}
	return 0;
}

static int check_symbol(const struct probe_row *row, struct probe_fault *f)
{
	bool mangled = !strncmp(row->symbol, "_Z", 2);
	const char *field = row->prefix ? "prefix" : "symbol";

	if (row->follow && row->texts[0])
		return probe_check_fault(f, "texts", "not allowed with follow");
	if (row->follow && row->variants[0])
		return probe_check_fault(f, "variants", "allowed only with an exact symbol");
	if (row->follow && row->returns) /* a function found by `follow` may be C++ code */
		return probe_check_fault(
			f, "return",
			"not allowed with follow: an exception through it would end the job");
	if (row->follow)
		return 0;
	if (strlen(row->symbol) < 3)
		return probe_check_fault(f, field, "is too short to identify one function");
	if (strpbrk(row->symbol, "@*? "))
		return probe_check_fault(f, field,
					 "contains a version or a pattern; give the plain name");
	if (row->prefix && row->variants[0])
		return probe_check_fault(f, "variants", "allowed only with an exact symbol");
	for (size_t i = 0; row->texts[i]; i++)
		if (strlen(row->texts[i]) < TEXT_LEAST || strlen(row->texts[i]) > TEXT_MOST)
			return probe_check_fault(f, "texts", "each must have 8 to 95 bytes");
	if (row->texts[0] && row->abi != PROBE_ABI_C)
		return probe_check_fault(f, "abi",
					 "must be c for a function that is found by its texts");
	if (row->texts[0])
		return 0;
	if (mangled && row->abi == PROBE_ABI_C)
		return probe_check_fault(f, "abi", "must be itanium or cxx_sret for a C++ symbol");
	/* An exception that passes a return-probed frame ends the job (std::terminate()). */
	if (row->returns && (mangled || row->abi != PROBE_ABI_C))
		return probe_check_fault(
			f, "return",
			"not allowed on a C++ function: an exception that passes it would end the job");
	return 0;
}

/* Checks the rules of role: monitor. Its BPF program reads the event to which the only capture
 * points; the records have no room for anything else. */
static int check_monitor(const struct probe_row *row, struct probe_fault *f)
{
	if (row->role != GP_ROLE_monitor)
		return 0;
	if (row->captures != 1 || row->capture[0].derefs)
		return probe_check_fault(
			f, "captures",
			"role: monitor needs exactly one, the argument that is the event");
	if (row->string != PROBE_STRING_NONE)
		return probe_check_fault(f, "string", "not allowed with role: monitor");
	if (row->returns)
		return probe_check_fault(f, "return", "not allowed with role: monitor");
	if (row->count)
		return probe_check_fault(f, "emit",
					 "emit: count is not allowed with role: monitor");
	if (row->wake)
		return probe_check_fault(f, "wake", "not allowed with role: monitor");
	if (!row->max_hz)
		return probe_check_fault(
			f, "max_hz",
			"required with role: monitor, as the job decides how often it calls");
	return 0;
}

/* Checks the rules of role: operation. The formula itself is parsed by the model, which does not
 * count the row's calls if it is wrong. */
static int check_operation(const struct probe_row *row, struct probe_fault *f)
{
	bool operation = row->role == GP_ROLE_operation;

	if (operation != (row->group == GP_GROUP_measure))
		return probe_check_fault(
			f, "group", "role: operation needs group: measure, which no other has");
	if (operation != !!row->operations)
		return probe_check_fault(f, "operations",
					 "required with role: operation, and only allowed with it");
	for (int i = 0; i < row->captures; i++)
		if (row->capture[i].as != PROBE_AS_VALUE &&
		    (!operation || (row->capture[i].as == PROBE_AS_TENSOR && i >= GP_TENSORS)))
			return probe_check_fault(
				f, "captures",
				"as: tensor needs role: operation, and one of the first 3 places");
	if (!operation)
		return 0;
	if (strlen(row->operations) >= GP_FORMULA_MAX)
		return probe_check_fault(f, "operations", "is longer than 159 bytes");
	if (row->string != PROBE_STRING_NONE || row->returns || row->count || row->wake ||
	    row->has_only || row->once)
		return probe_check_fault(f, "role",
					 "operation does not allow string, return, emit: count, "
					 "wake, only and once");
	if (!row->max_hz)
		return probe_check_fault(
			f, "max_hz",
			"required with role: operation, as the job decides how often it calls");
	return 0;
}

static int check_count(const struct probe_row *row, struct probe_fault *f)
{
	if (!row->count)
		return 0;
	if (row->returns)
		return probe_check_fault(f, "return", "not allowed with emit: count");
	if (row->captures)
		return probe_check_fault(f, "captures", "not allowed with emit: count");
	if (row->string != PROBE_STRING_NONE)
		return probe_check_fault(f, "string", "not allowed with emit: count");
	if (row->max_hz)
		return probe_check_fault(f, "max_hz", "not allowed with emit: count");
	return 0;
}

static int check_meaning(const struct probe_row *row, struct probe_fault *f)
{
	if (row->pair && row->role != GP_ROLE_collective)
		return probe_check_fault(f, "pair", "allowed only with role: collective");
	if (row->object && row->role != GP_ROLE_execute && row->role != GP_ROLE_compile_end)
		return probe_check_fault(f, "object",
					 "allowed only with role: execute or compile_end");
	if (row->object && !row->captures)
		return probe_check_fault(f, "object",
					 "needs captures, the first of which is the object");
	if (row->object && row->string != PROBE_STRING_NONE)
		return probe_check_fault(f, "object",
					 "not allowed with string, as the object has the name");
	/* The model treats the third value of a hit as the program's first input. */
	if (row->object && row->role == GP_ROLE_execute && !row->returns && row->captures < 3)
		return probe_check_fault(
			f, "captures", "object needs three: the executable, any, the first input");
	return 0;
}

static int check_emit(const struct probe_row *row, struct probe_fault *f)
{
	bool range = row->role == GP_ROLE_range_begin;

	if (row->may_block && !row->returns)
		return probe_check_fault(f, "may_block", "needs return: true");
	if (row->unless_of && !row->returns)
		return probe_check_fault(f, "unless", "needs return: true");
	if (row->unless_of < 0)
		return probe_check_fault(f, "unless",
					 "`of` must be return or the name of a capture");
	if (row->wake && (row->count || range))
		return probe_check_fault(f, "wake",
					 "not allowed with emit: count or role: range_begin");
	if (row->linked &&
	    (row->follow || row->texts[0] || row->prefix || !strncmp(row->symbol, "_Z", 2)))
		return probe_check_fault(f, "linked",
					 "allowed only with the exact symbol of a C function");
	if (row->only_names && (range || row->string == PROBE_STRING_NONE))
		return probe_check_fault(f, "only_names",
					 "needs a string, and a role other than range_begin");
	if (row->once && (row->count || row->returns || range || row->string != PROBE_STRING_NONE))
		return probe_check_fault(
			f, "once",
			"not allowed with emit: count, return, string or role: range_begin");
	if (row->returns && row->string != PROBE_STRING_NONE)
		return probe_check_fault(f, "string", "not allowed with return: true");
	if (row->returns && (range || row->role == GP_ROLE_range_end))
		return probe_check_fault(f, "return", "not allowed with range_begin and range_end");
	if (range && row->anonymous == (row->string != PROBE_STRING_NONE))
		return probe_check_fault(
			f, "string", "role: range_begin needs either a string or anonymous: true");
	if (row->anonymous && !range)
		return probe_check_fault(f, "anonymous", "allowed only with role: range_begin");
	if (row->keep[0] && !row->only_names && (!range || row->anonymous))
		return probe_check_fault(f, "keep",
					 "allowed only with role: range_begin and a string");
	if (row->keep[0] && !row->only_names && !row->max_hz)
		return probe_check_fault(f, "keep", "has no effect without max_hz");
	if (row->max_hz > MAX_HZ_MAX)
		return probe_check_fault(f, "max_hz", "is more than 1000000");
	if (check_monitor(row, f) || check_operation(row, f))
		return -EINVAL;
	return check_count(row, f);
}

static int check_capture(const struct probe_capture *c, const char *field, struct probe_fault *f)
{
	if (c->width != 1 && c->width != 2 && c->width != 4 && c->width != 8)
		return probe_check_fault(f, field, "width must be 1, 2, 4 or 8 bytes");
	if (c->derefs > 3)
		return probe_check_fault(f, field, "deref is more than 3");
	if (c->offset[0] && !c->derefs && strcmp(field, "string"))
		return probe_check_fault(f, field, "offset has no effect without deref");
	for (int i = 0; i < GP_DEREFS_MAX; i++)
		if (c->offset[i] < INT16_MIN || c->offset[i] > INT16_MAX)
			return probe_check_fault(f, field, "offset is out of range");
	return 0;
}

static int check_captures(const struct probe_row *row, struct probe_fault *f)
{
	bool range = row->role == GP_ROLE_range_begin || row->role == GP_ROLE_range_end;
	int err = row->has_only ? check_capture(&row->only, "only", f) : 0;
	struct gp_row unused;

	if (!err && row->string != PROBE_STRING_NONE)
		err = check_capture(&row->text, "string", f);
	for (int i = 0; i < row->captures && !err; i++) {
		err = check_capture(&row->capture[i], "captures", f);
		if (!err && row->capture[i].late && !row->returns)
			err = probe_check_fault(f, "captures", "late needs return: true");
	}
	if (err)
		return err;
	if (row->captures && range)
		return probe_check_fault(f, "captures",
					 "not allowed with range_begin and range_end");
	if (row->captures >
		    HIT_ARGS + (row->role == GP_ROLE_on_ready || row->role == GP_ROLE_execute) &&
	    !row->returns && row->role != GP_ROLE_operation)
		return probe_check_fault(f, "captures", "more than 2 need return: true");
	/* Check the row for both architectures: a file that is accepted on one of them is then
	 * accepted on the other. */
	if (probe_row_compile_for(EM_X86_64, row, 0, &unused) ||
	    probe_row_compile_for(EM_AARCH64, row, 0, &unused))
		return probe_check_fault(f,
					 row->captures	 ? "captures"
					 : row->has_only ? "only"
							 : "string",
					 "arg is out of reach");
	return 0;
}

int probe_row_check(const struct probe_row *row, struct probe_fault *ret)
{
	int err = check_libraries(row, ret);

	if (!err)
		err = check_symbol(row, ret);
	if (!err)
		err = check_emit(row, ret);
	if (!err)
		err = check_meaning(row, ret);
	if (!err)
		err = check_captures(row, ret);
	return err;
}

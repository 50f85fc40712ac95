/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/probe/probe_yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/gp_abi.h"
#include "loader/probe/probe_file.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/yaml_table.h"

#define FILE_BYTES_MAX (1 << 20)
#define CODES_MAX      256

/* ---- the format of a file, see probes/README.md ---------------------------------------------- */

#define FIELD(name, kind, need, owner, member, size, max, count_at, table)                         \
	{                                                                                          \
		name, kind, need, offsetof(struct owner, member), size, max, count_at,             \
		{                                                                                  \
			table                                                                      \
		}                                                                                  \
	}
#define MEMBER_SIZE(owner, member)	       sizeof(*((struct owner *)0)->member)
#define VALUE(name, kind, need, owner, member) FIELD(name, kind, need, owner, member, 0, 0, 0, NULL)
#define CHOICE(name, need, owner, member, values)                                                  \
	FIELD(name, YAML_CHOICE, need, owner, member, 0, 0, 0, .choices = (values))
/* An optional key whose member points to the value; NULL when the key is absent. */
#define POINTED(name, kind, owner, member, table)                                                  \
	FIELD(name, kind, false, owner, member, MEMBER_SIZE(owner, member), 0, 0, table)
#define ENTRIES(name, kind, need, owner, member, count, max, table)                                \
	FIELD(name, kind, need, owner, member, MEMBER_SIZE(owner, member), max,                    \
	      offsetof(struct owner, count), table)
#define TEXTS(name, need, owner, member, max)                                                      \
	ENTRIES(name, YAML_TEXT, need, owner, member.entry, member.count, max, NULL)

static const struct yaml_choice bools[] = {{"true", 1}, {"yes", 1}, {"false", 0}, {"no", 0}, {0}};
static const struct yaml_choice abis[] = {
	{"c", PROBE_ABI_C}, {"itanium", PROBE_ABI_ITANIUM}, {"cxx_sret", PROBE_ABI_CXX_SRET}, {0}};
static const struct yaml_choice emits[] = {{"record", 0}, {"count", 1}, {0}};
static const struct yaml_choice strings[] = {
	{"chars", PROBE_STRING_CHARS}, {"std_string", PROBE_STRING_STD}, {0}};
static const struct yaml_choice captured[] = {
	{"value", PROBE_AS_VALUE}, {"tensor", PROBE_AS_TENSOR}, {"list", PROBE_AS_LIST}, {0}};
static const struct yaml_choice objects[] = {{"none", 0}, {"xla_executable", 1}, {0}};
static const struct yaml_choice statuses[] = {{"unverified", 0}, {"verified", 1}, {0}};
#define X(id, name, attributes) {#name, id},
static const struct yaml_choice roles[] = {GP_ROLES(X){0}};
#undef X
#define X(id, name) {#name, id},
static const struct yaml_choice groups[] = {GP_GROUPS(X){0}};
static const struct yaml_choice results[] = {GP_RETURNS(X){0}};
static const struct yaml_choice faults[] = {GP_FAULTS(X){0}};
#undef X

static const struct yaml_field string_fields[] = {
	VALUE("arg", YAML_INT, true, yaml_string, arg),
	VALUE("deref", YAML_UINT, false, yaml_string, deref),
	VALUE("offset", YAML_INT, false, yaml_string, offset),
	CHOICE("as", true, yaml_string, as, strings),
	{0},
};

#define CAPTURE_FIELDS                                                                             \
	VALUE("arg", YAML_INT, true, yaml_capture, arg),                                           \
		POINTED("arm64", YAML_INT, yaml_capture, arm64, NULL),                             \
		VALUE("deref", YAML_UINT, false, yaml_capture, deref),                             \
		VALUE("width", YAML_UINT, false, yaml_capture, width),                             \
		VALUE("offset", YAML_INT, false, yaml_capture, offset),                            \
		ENTRIES("path", YAML_INT, false, yaml_capture, path, path_count, GP_DEREFS_MAX,    \
			NULL)

static const struct yaml_field capture_fields[] = {
	VALUE("name", YAML_TEXT, true, yaml_capture, name),
	CAPTURE_FIELDS,
	CHOICE("late", false, yaml_capture, late, bools),
	CHOICE("as", false, yaml_capture, as, captured),
	{0},
};

static const struct yaml_field unless_fields[] = {
	VALUE("of", YAML_TEXT, true, yaml_unless, of),
	ENTRIES("is", YAML_INT, true, yaml_unless, is, is_count, GP_UNLESS, NULL),
	{0},
};

static const struct yaml_field follow_fields[] = {
	VALUE("probe", YAML_TEXT, true, yaml_follow, probe),
	VALUE("capture", YAML_TEXT, true, yaml_follow, capture),
	VALUE("join", YAML_TEXT, false, yaml_follow, join),
	VALUE("with", YAML_TEXT, false, yaml_follow, with),
	{0},
};

static const struct yaml_field only_fields[] = {
	CAPTURE_FIELDS,
	VALUE("equals", YAML_UINT64, true, yaml_capture, equals),
	{0},
};

static const struct yaml_field result_fields[] = {
	CHOICE("is", true, yaml_result, is, results),
	TEXTS("ok", false, yaml_result, ok, GP_OKS),
	{0},
};

static const struct yaml_field code_fields[] = {
	VALUE("code", YAML_TEXT, true, yaml_code, code),
	VALUE("name", YAML_TEXT, true, yaml_code, name),
	CHOICE("fault", true, yaml_code, fault, faults),
	{0},
};

static const struct yaml_field probe_fields[] = {
	VALUE("id", YAML_TEXT, true, yaml_probe, id),
	VALUE("symbol", YAML_TEXT, false, yaml_probe, symbol),
	VALUE("prefix", YAML_TEXT, false, yaml_probe, prefix),
	TEXTS("libraries", false, yaml_probe, libraries, 16),
	TEXTS("variants", false, yaml_probe, variants, 8),
	CHOICE("abi", false, yaml_probe, abi, abis),
	CHOICE("group", true, yaml_probe, group, groups),
	CHOICE("role", false, yaml_probe, role, roles),
	CHOICE("emit", false, yaml_probe, emit, emits),
	CHOICE("return", false, yaml_probe, returns, bools),
	CHOICE("may_block", false, yaml_probe, may_block, bools),
	CHOICE("anonymous", false, yaml_probe, anonymous, bools),
	CHOICE("once", false, yaml_probe, once, bools),
	VALUE("max_hz", YAML_UINT, false, yaml_probe, max_hz),
	POINTED("string", YAML_STRUCTURE, yaml_probe, string, string_fields),
	ENTRIES("captures", YAML_STRUCTURE, false, yaml_probe, captures, captures_count, GP_ARGS,
		capture_fields),
	POINTED("only", YAML_STRUCTURE, yaml_probe, only, only_fields),
	TEXTS("keep", false, yaml_probe, keep, GP_KEEP),
	TEXTS("only_names", false, yaml_probe, only_names, GP_KEEP),
	POINTED("unless", YAML_STRUCTURE, yaml_probe, unless, unless_fields),
	POINTED("follow", YAML_STRUCTURE, yaml_probe, follow, follow_fields),
	POINTED("result", YAML_STRUCTURE, yaml_probe, result, result_fields),
	CHOICE("wake", false, yaml_probe, wake, bools),
	CHOICE("linked", false, yaml_probe, linked, bools),
	CHOICE("pair", false, yaml_probe, pair, bools),
	CHOICE("object", false, yaml_probe, object, objects),
	TEXTS("texts", false, yaml_probe, texts, 4),
	VALUE("operations", YAML_TEXT, false, yaml_probe, operations),
	VALUE("versions", YAML_TEXT, false, yaml_probe, versions),
	CHOICE("status", false, yaml_probe, status, statuses),
	VALUE("why", YAML_TEXT, true, yaml_probe, why),
	{0},
};

static const struct yaml_field file_fields[] = {
	VALUE("runtime", YAML_TEXT, true, yaml_probes, runtime),
	TEXTS("libraries", true, yaml_probes, libraries, 16),
	TEXTS("threads", false, yaml_probes, threads, 16),
	TEXTS("devices", false, yaml_probes, devices, 16),
	POINTED("result", YAML_STRUCTURE, yaml_probes, result, result_fields),
	CHOICE("between_ranks", false, yaml_probes, between_ranks, bools),
	ENTRIES("codes", YAML_STRUCTURE, false, yaml_probes, codes, codes_count, CODES_MAX,
		code_fields),
	ENTRIES("probes", YAML_STRUCTURE, true, yaml_probes, probes, probes_count, GP_ROWS_MAX,
		probe_fields),
	{0},
};

int yaml_file_load(struct yaml_file **ret, const char *path)
{
	struct yaml_file *f = calloc(1, sizeof(*f));
	struct buffer text = {0};
	int err = -ENOMEM;

	if (!f)
		return err;
	f->path = strdup(path);
	/* path_read() refuses a FIFO, on which this process could wait forever. */
	err = f->path ? path_read(path, &text, FILE_BYTES_MAX, 0) : -ENOMEM;
	if (err)
		log_error("%s: cannot be read: %s", path,
			  err == -EINVAL ? "not a regular file" : strerror(-err));
	else
		err = yaml_table_read(&f->memory, f->path, text.data ? text.data : "", text.len,
				      file_fields, &f->probes);
	buffer_free(&text);
	if (err)
		yaml_file_free(f);
	else
		*ret = f;
	return err;
}

void yaml_file_free(struct yaml_file *f)
{
	if (!f)
		return;
	yaml_memory_free(&f->memory);
	free(f->path);
	free(f);
}

int yaml_file_line(const struct yaml_file *f, int i, const char *field)
{
	return i < 0 ? yaml_table_line(file_fields, f->probes.lines, field)
		     : yaml_table_line(probe_fields, f->probes.probes[i].lines, field);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <cyaml/cyaml.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/gp_abi.h"
#include "loader/probe/probe_file.h"
#include "loader/probe/probe_keys.h"
#include "loader/probe/probe_yaml.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"

#define FILE_BYTES_MAX (1 << 20)
#define CODES_MAX      256
#define TEXT_MAX       1024 /* bytes of one string */

struct yaml_file {
	char *path, *text;
	size_t len;
	struct probe_keys *keys;
	cyaml_data_t *data; /* struct yaml_probes, from libcyaml */
};

/* ---- the format of a file, see probes/README.md ---------------------------------------------- */

#define PTR CYAML_FLAG_POINTER
#define OPT (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define TEXT(title, flags, owner, member)                                                          \
	CYAML_FIELD_STRING_PTR(title, flags, owner, member, 1, TEXT_MAX)
#define CHOICE(title, flags, owner, member, names)                                                 \
	CYAML_FIELD_ENUM(title, (flags) | CYAML_FLAG_STRICT, owner, member, names,                 \
			 CYAML_ARRAY_LEN(names))
#define LIST(title, flags, owner, member, size)                                                    \
	CYAML_FIELD_SEQUENCE_COUNT(title, flags, owner, member.entry, member.count, &text_schema,  \
				   1, size)

static const cyaml_strval_t bools[] = {{"true", 1}, {"yes", 1}, {"false", 0}, {"no", 0}};
static const cyaml_strval_t abis[] = {
	{"c", PROBE_ABI_C}, {"itanium", PROBE_ABI_ITANIUM}, {"cxx_sret", PROBE_ABI_CXX_SRET}};
static const cyaml_strval_t emits[] = {{"record", 0}, {"count", 1}};
static const cyaml_strval_t strings[] = {{"chars", PROBE_STRING_CHARS},
					 {"std_string", PROBE_STRING_STD}};
static const cyaml_strval_t objects[] = {{"none", 0}, {"xla_executable", 1}};
static const cyaml_strval_t statuses[] = {{"unverified", 0}, {"verified", 1}};
#define X(id, name, attributes) {#name, id},
static const cyaml_strval_t roles[] = {GP_ROLES(X)};
#undef X
#define X(id, name) {#name, id},
static const cyaml_strval_t groups[] = {GP_GROUPS(X)};
static const cyaml_strval_t results[] = {GP_RETURNS(X)};
static const cyaml_strval_t faults[] = {GP_FAULTS(X)};
#undef X

static const cyaml_schema_value_t text_schema = {CYAML_VALUE_STRING(PTR, char, 1, TEXT_MAX)};

static const cyaml_schema_value_t number_schema = {CYAML_VALUE_INT(CYAML_FLAG_DEFAULT, int)};

static const cyaml_schema_field_t string_fields[] = {
	CYAML_FIELD_INT("arg", CYAML_FLAG_DEFAULT, struct yaml_string, arg),
	CYAML_FIELD_UINT("deref", CYAML_FLAG_OPTIONAL, struct yaml_string, deref),
	CYAML_FIELD_INT("offset", CYAML_FLAG_OPTIONAL, struct yaml_string, offset),
	CHOICE("as", CYAML_FLAG_DEFAULT, struct yaml_string, as, strings),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t capture_fields[] = {
	TEXT("name", PTR, struct yaml_capture, name),
	CYAML_FIELD_INT("arg", CYAML_FLAG_DEFAULT, struct yaml_capture, arg),
	CYAML_FIELD_INT_PTR("arm64", OPT, struct yaml_capture, arm64),
	CYAML_FIELD_UINT("deref", CYAML_FLAG_OPTIONAL, struct yaml_capture, deref),
	CYAML_FIELD_UINT("width", CYAML_FLAG_OPTIONAL, struct yaml_capture, width),
	CYAML_FIELD_INT("offset", CYAML_FLAG_OPTIONAL, struct yaml_capture, offset),
	CYAML_FIELD_SEQUENCE("path", OPT, struct yaml_capture, path, &number_schema, 1,
			     GP_DEREFS_MAX),
	CHOICE("late", CYAML_FLAG_OPTIONAL, struct yaml_capture, late, bools),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t unless_fields[] = {
	TEXT("of", PTR, struct yaml_unless, of),
	CYAML_FIELD_SEQUENCE("is", PTR, struct yaml_unless, is, &number_schema, 1, GP_UNLESS),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t follow_fields[] = {
	TEXT("probe", PTR, struct yaml_follow, probe),
	TEXT("capture", PTR, struct yaml_follow, capture),
	TEXT("join", OPT, struct yaml_follow, join),
	TEXT("with", OPT, struct yaml_follow, with),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t only_fields[] = {
	CYAML_FIELD_INT("arg", CYAML_FLAG_DEFAULT, struct yaml_capture, arg),
	CYAML_FIELD_INT_PTR("arm64", OPT, struct yaml_capture, arm64),
	CYAML_FIELD_UINT("deref", CYAML_FLAG_OPTIONAL, struct yaml_capture, deref),
	CYAML_FIELD_UINT("width", CYAML_FLAG_OPTIONAL, struct yaml_capture, width),
	CYAML_FIELD_INT("offset", CYAML_FLAG_OPTIONAL, struct yaml_capture, offset),
	CYAML_FIELD_SEQUENCE("path", OPT, struct yaml_capture, path, &number_schema, 1,
			     GP_DEREFS_MAX),
	CYAML_FIELD_UINT("equals", CYAML_FLAG_DEFAULT, struct yaml_capture, equals),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t capture_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct yaml_capture, capture_fields),
};

static const cyaml_schema_field_t result_fields[] = {
	CHOICE("is", CYAML_FLAG_DEFAULT, struct yaml_result, is, results),
	LIST("ok", OPT, struct yaml_result, ok, GP_OKS),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t code_fields[] = {
	TEXT("code", PTR, struct yaml_code, code),
	TEXT("name", PTR, struct yaml_code, name),
	CHOICE("fault", CYAML_FLAG_DEFAULT, struct yaml_code, fault, faults),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t code_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct yaml_code, code_fields),
};

static const cyaml_schema_field_t probe_fields[] = {
	TEXT("id", PTR, struct yaml_probe, id),
	TEXT("symbol", OPT, struct yaml_probe, symbol),
	TEXT("prefix", OPT, struct yaml_probe, prefix),
	LIST("libraries", OPT, struct yaml_probe, libraries, 16),
	LIST("variants", OPT, struct yaml_probe, variants, 8),
	CHOICE("abi", CYAML_FLAG_OPTIONAL, struct yaml_probe, abi, abis),
	CHOICE("group", CYAML_FLAG_DEFAULT, struct yaml_probe, group, groups),
	CHOICE("role", CYAML_FLAG_OPTIONAL, struct yaml_probe, role, roles),
	CHOICE("emit", CYAML_FLAG_OPTIONAL, struct yaml_probe, emit, emits),
	CHOICE("return", CYAML_FLAG_OPTIONAL, struct yaml_probe, returns, bools),
	CHOICE("may_block", CYAML_FLAG_OPTIONAL, struct yaml_probe, may_block, bools),
	CHOICE("anonymous", CYAML_FLAG_OPTIONAL, struct yaml_probe, anonymous, bools),
	CHOICE("once", CYAML_FLAG_OPTIONAL, struct yaml_probe, once, bools),
	CYAML_FIELD_UINT("max_hz", CYAML_FLAG_OPTIONAL, struct yaml_probe, max_hz),
	CYAML_FIELD_MAPPING_PTR("string", OPT, struct yaml_probe, string, string_fields),
	CYAML_FIELD_SEQUENCE("captures", OPT, struct yaml_probe, captures, &capture_schema, 1,
			     GP_ARGS),
	CYAML_FIELD_MAPPING_PTR("only", OPT, struct yaml_probe, only, only_fields),
	LIST("keep", OPT, struct yaml_probe, keep, GP_KEEP),
	LIST("only_names", OPT, struct yaml_probe, only_names, GP_KEEP),
	CYAML_FIELD_MAPPING_PTR("unless", OPT, struct yaml_probe, unless, unless_fields),
	CYAML_FIELD_MAPPING_PTR("follow", OPT, struct yaml_probe, follow, follow_fields),
	CYAML_FIELD_MAPPING_PTR("result", OPT, struct yaml_probe, result, result_fields),
	CHOICE("wake", CYAML_FLAG_OPTIONAL, struct yaml_probe, wake, bools),
	CHOICE("linked", CYAML_FLAG_OPTIONAL, struct yaml_probe, linked, bools),
	CHOICE("pair", CYAML_FLAG_OPTIONAL, struct yaml_probe, pair, bools),
	CHOICE("object", CYAML_FLAG_OPTIONAL, struct yaml_probe, object, objects),
	CYAML_FIELD_UINT("slot", CYAML_FLAG_OPTIONAL, struct yaml_probe, slot),
	TEXT("versions", OPT, struct yaml_probe, versions),
	CHOICE("status", CYAML_FLAG_OPTIONAL, struct yaml_probe, status, statuses),
	TEXT("why", PTR, struct yaml_probe, why),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t probe_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct yaml_probe, probe_fields),
};

static const cyaml_schema_field_t file_fields[] = {
	TEXT("runtime", PTR, struct yaml_probes, runtime),
	LIST("libraries", PTR, struct yaml_probes, libraries, 16),
	LIST("threads", OPT, struct yaml_probes, threads, 16),
	LIST("devices", OPT, struct yaml_probes, devices, 16),
	CYAML_FIELD_MAPPING_PTR("result", OPT, struct yaml_probes, result, result_fields),
	CHOICE("between_ranks", CYAML_FLAG_OPTIONAL, struct yaml_probes, between_ranks, bools),
	CYAML_FIELD_SEQUENCE("codes", OPT, struct yaml_probes, codes, &code_schema, 1, CODES_MAX),
	CYAML_FIELD_SEQUENCE("probes", PTR, struct yaml_probes, probes, &probe_schema, 1,
			     GP_ROWS_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t file_schema = {
	CYAML_VALUE_MAPPING(PTR, struct yaml_probes, file_fields),
};

/* ---- errors of libcyaml, as one line --------------------------------------------------------- */

struct complaint {
	char what[160], field[64];
	size_t line, column; /* of the innermost position that libcyaml named */
	size_t entry_line;   /* line of the innermost list entry */
	unsigned positions;
	bool in_backtrace;
};

static void yaml_complaint_position(struct complaint *c, const char *text)
{
	size_t line = 0, column = 0;
	char field[64] = "";
	unsigned entry;
	bool first = !c->positions++;

	if (sscanf(text, " in mapping field '%63[^']' (line: %zu, column: %zu", field, &line,
		   &column) != 3 &&
	    sscanf(text, " in mapping (line: %zu, column: %zu", &line, &column) != 2 &&
	    sscanf(text, " in sequence entry '%u' (line: %zu, column: %zu", &entry, &line,
		   &column) == 3 &&
	    !c->entry_line)
		c->entry_line = line;
	if (!c->field[0])
		snprintf(c->field, sizeof(c->field), "%s", field);
	if (first) {
		c->line = line;
		c->column = column;
	}
}

/* Receives lines of libcyaml: first the error, then its position, innermost first. */
static void yaml_complaint_read(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	struct complaint *c = ctx;
	char text[256];
	size_t len;

	if (level < CYAML_LOG_ERROR)
		return;
	vsnprintf(text, sizeof(text), fmt, args);
	len = strcspn(text, "\n");
	text[len] = 0;
	if (!strcmp(text, "Load: Backtrace:"))
		c->in_backtrace = true;
	else if (c->in_backtrace)
		yaml_complaint_position(c, text);
	else if (!c->what[0])
		log_escape(c->what, sizeof(c->what), text, len);
}

static void yaml_complaint_log(const struct yaml_file *f, const struct complaint *c)
{
	static const char unknown[] = "Load: Unexpected key: ",
			  missing[] = "Load: Missing required mapping field: ";
	const char *what = c->what, *field = c->field[0] ? c->field : "file";
	size_t line = c->line ? c->line : 1;

	if (!strncmp(what, unknown, sizeof(unknown) - 1)) {
		field = what + sizeof(unknown) - 1;
		line = probe_keys_line_after(f->keys, field, c->line, c->column);
		what = "unknown key";
	} else if (!strncmp(what, missing, sizeof(missing) - 1)) {
		field = what + sizeof(missing) - 1;
		line = c->entry_line ? c->entry_line : line;
		what = "is missing";
	} else if (!strncmp(what, "Load: ", 6)) {
		what += 6;
	}
	log_error("%s:%zu: %s: %s", f->path, line, field, what);
}

static const cyaml_config_t silent = {
	.mem_fn = cyaml_mem,
	.log_level = CYAML_LOG_ERROR,
	.flags = CYAML_CFG_NO_ALIAS,
};

static int yaml_file_parse(struct yaml_file *f)
{
	struct complaint complaint = {0};
	cyaml_config_t config = silent;
	cyaml_err_t err;

	config.log_fn = yaml_complaint_read;
	config.log_ctx = &complaint;
	err = cyaml_load_data((const uint8_t *)f->text, f->len, &config, &file_schema, &f->data,
			      NULL);
	if (err == CYAML_OK && f->data)
		return 0;
	if (!complaint.what[0])
		snprintf(complaint.what, sizeof(complaint.what), "%s",
			 err == CYAML_OK ? "is empty" : cyaml_strerror(err));
	yaml_complaint_log(f, &complaint);
	return err == CYAML_ERR_OOM ? -ENOMEM : -EINVAL;
}

/* ---- reading */

static int yaml_file_read(struct yaml_file *f, int fd)
{
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	f->text = malloc(FILE_BYTES_MAX + 1);
	if (!f->text)
		return -ENOMEM;
	do {
		got = read(fd, f->text + f->len, FILE_BYTES_MAX + 1 - f->len);
		if (got < 0 && errno != EINTR)
			return -errno;
		f->len += got > 0 ? (size_t)got : 0;
	} while (got && f->len <= FILE_BYTES_MAX);
	return f->len > FILE_BYTES_MAX ? -EFBIG : 0;
}

int yaml_file_load(struct yaml_file **ret, const char *path)
{
	struct yaml_file *f = calloc(1, sizeof(*f));
	int fd, err;

	if (!f)
		return -ENOMEM;
	f->path = strdup(path);
	/* path_open() opens with O_NONBLOCK, so that a FIFO does not block before it is refused. */
	fd = path_open(path, O_RDONLY, 0);
	err = fd < 0 ? fd : f->path ? yaml_file_read(f, fd) : -ENOMEM;
	if (fd >= 0)
		close(fd);
	if (err) {
		log_error("%s:1: file: %s", path,
			  err == -EINVAL ? "is not a regular file" : strerror(-err));
		goto out;
	}
	err = probe_keys_read(&f->keys, path, f->text, f->len);
	if (!err)
		err = yaml_file_parse(f);
out:
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
	cyaml_free(&silent, &file_schema, f->data, 0);
	probe_keys_free(f->keys);
	free(f->text);
	free(f->path);
	free(f);
}

const struct yaml_probes *yaml_file_probes(const struct yaml_file *f)
{
	return (const struct yaml_probes *)f->data;
}

const char *yaml_file_path(const struct yaml_file *f)
{
	return f->path;
}

int yaml_file_line(const struct yaml_file *f, int i, const char *field)
{
	return (int)probe_keys_line(f->keys, i, field);
}

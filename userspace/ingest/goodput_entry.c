/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/goodput_entry.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/epoch.h"
#include "userspace/base/hash.h"
#include "userspace/ingest/goodput_arena.h"

#define US_PER_S   1e6
#define NUMBER_MAX 9007199254740992.0 /* 2^53: larger numbers in JSON are not exact as doubles */

struct goodput_parser {
	struct goodput_arena *arena;
	struct goodput_names *names;
	/* buffer of the caller, to which the reason is written if an entry is bad */
	char *reason;
	int64_t before_us; /* write time of the previous record, in microseconds */
};

/* Keys that determine the kind of a record. If a record has several, the first in this list is
 * used. */
static const struct {
	const char *key;
	enum goodput_kind kind;
} instants[] = {
	{"job_start_time", GOODPUT_JOB_START},
	{"job_end_time", GOODPUT_JOB_END},
	{"step_start_time", GOODPUT_STEP},
	{"tpu_init_start_time", GOODPUT_INIT_START},
	{"tpu_init_end_time", GOODPUT_INIT_END},
	{"training_prep_start_time", GOODPUT_PREP_START},
	{"training_prep_end_time", GOODPUT_PREP_END},
	{"data_loading_start_time", GOODPUT_LOAD_START},
	{"data_loading_end_time", GOODPUT_LOAD_END},
	{"custom_badput_event_start_time", GOODPUT_CUSTOM_START},
	{"custom_badput_event_end_time", GOODPUT_CUSTOM_END},
	{"elastic_slice_counts_timestamp", GOODPUT_SLICES},
	{"elastic_wait_start_time", GOODPUT_ELASTIC_WAIT_START},
	{"elastic_wait_end_time", GOODPUT_ELASTIC_WAIT_END},
	{"elastic_reinit_start_time", GOODPUT_ELASTIC_REINIT_START},
	{"elastic_reinit_end_time", GOODPUT_ELASTIC_REINIT_END},
};

static const struct {
	const char *type, *start, *duration;
	const char *others[3]; /* further keys that the goodput library requires in such a record */
	enum goodput_kind kind;
} checkpoints[] = {
	{"save",
	 "checkpoint_manager_blocking_start_time",
	 "checkpoint_manager_blocking_duration_secs",
	 {"checkpointer_blocking_duration_secs", "wait_for_prev_duration_secs",
	  "get_old_steps_duration_secs"},
	 GOODPUT_SAVE},
	{"restore",
	 "checkpoint_manager_start_time",
	 "checkpoint_manager_duration_secs",
	 {"checkpointer_duration_secs"},
	 GOODPUT_RESTORE},
	{"emergency_restore",
	 "checkpoint_manager_start_time",
	 "checkpoint_manager_duration_secs",
	 {"checkpointer_duration_secs"},
	 GOODPUT_EMERGENCY_RESTORE},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct goodput_parser *goodput_parser_new(struct goodput_names *names)
{
	struct goodput_parser *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->names = names;
	p->arena = goodput_arena_new();
	if (!p->arena) {
		free(p);
		return NULL;
	}
	return p;
}

void goodput_parser_free(struct goodput_parser *p)
{
	if (!p)
		return;
	goodput_arena_free(p->arena);
	free(p);
}

static int entry_bad(struct goodput_parser *p, const char *key, const char *why)
{
	snprintf(p->reason, GOODPUT_REASON_MAX, "%s %s", key, why);
	return -EBADMSG;
}

/* Returns the last field with this key, as Python's parser does; NULL if there is none. */
static const cJSON *entry_field(const cJSON *object, const char *key)
{
	const cJSON *found = NULL, *child;

	cJSON_ArrayForEach(child, object) if (child->string && !strcmp(child->string, key))
		found = child;
	return found;
}

/* Like entry_field(), but treats a null value as a missing field. */
static const cJSON *entry_field_known(const cJSON *object, const char *key)
{
	const cJSON *found = entry_field(object, key);

	return cJSON_IsNull(found) ? NULL : found;
}

static bool entry_microseconds(const cJSON *v, int64_t *ret_us)
{
	double us;

	if (!cJSON_IsNumber(v))
		return false;
	us = v->valuedouble * US_PER_S;
	if (!(us >= 0 && us <= (double)GOODPUT_TIME_MAX_US))
		return false;
	*ret_us = llround(us);
	return true;
}

static int entry_take_time(struct goodput_parser *p, const cJSON *v, const char *key,
			   int64_t *ret_us)
{
	if (!cJSON_IsNumber(v))
		return entry_bad(p, key, cJSON_IsNull(v) ? "is null" : "is not a number");
	if (!entry_microseconds(v, ret_us))
		return entry_bad(p, key, "is not a time from 1970 to 2112");
	return 0;
}

/* Reads a whole number from 0 to max. If the key is absent or its value is null, *ret is
 * `missing`. */
static int entry_take_count(struct goodput_parser *p, const cJSON *o, const char *key, double max,
			    int64_t missing, int64_t *ret)
{
	const cJSON *v = entry_field_known(o, key);

	if (!v) {
		*ret = missing;
		return 0;
	}
	if (!cJSON_IsNumber(v))
		return entry_bad(p, key, "is not a number");
	if (!(v->valuedouble >= 0 && v->valuedouble <= max) ||
	    v->valuedouble != floor(v->valuedouble))
		return entry_bad(p, key, "is not a whole number, or too large");
	*ret = (int64_t)v->valuedouble;
	return 0;
}

static int entry_take_name(struct goodput_parser *p, const cJSON *o, const char *key,
			   const char *missing, bool capitals, uint32_t *ret)
{
	const cJSON *v = entry_field_known(o, key);
	const char *text = v ? v->valuestring : missing;
	char name[GOODPUT_NAME_MAX];
	size_t len;

	if (!text)
		return entry_bad(p, key, v ? "is not a string" : "is missing");
	len = strnlen(text, sizeof(name) - 1);
	for (size_t i = 0; i < len; i++)
		name[i] = capitals && text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 'a' + 'A')
								       : text[i];
	*ret = goodput_names_put(p->names, name, len);
	return 0;
}

static int entry_take_slices(struct goodput_parser *p, const cJSON *o, struct goodput_record *r)
{
	int64_t active, total, available;
	int err;

	/* if a value is missing, use the default of the goodput library */
	err = entry_take_count(p, o, "active_slices", UINT32_MAX, 0, &active);
	if (!err)
		err = entry_take_count(p, o, "total_slices", UINT32_MAX, 1, &total);
	if (!err)
		err = entry_take_count(p, o, "available_slices", UINT32_MAX, 0, &available);
	if (err)
		return err;
	r->active = (uint32_t)active;
	r->total = (uint32_t)total;
	r->available = (uint32_t)available;
	return 0;
}

static int entry_take_instant(struct goodput_parser *p, const cJSON *o, struct goodput_record *r)
{
	switch (r->kind) {
	case GOODPUT_STEP:
		if (!entry_field_known(o, "step_count"))
			return entry_bad(p, "step_count", "is missing");
		return entry_take_count(p, o, "step_count", NUMBER_MAX, 0, &r->number);
	case GOODPUT_CUSTOM_START:
	case GOODPUT_CUSTOM_END:
		return entry_take_name(p, o, "custom_badput_event_type", NULL, true, &r->name);
	case GOODPUT_ELASTIC_WAIT_START:
	case GOODPUT_ELASTIC_WAIT_END:
		return entry_take_name(p, o, "elastic_wait_event_type", "unknown", false, &r->name);
	case GOODPUT_SLICES:
		return entry_take_slices(p, o, r);
	default:
		return 0;
	}
}

static bool entry_ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Reads the start time of the checkpoint manager. If it is unknown, reads the first start time in
 * the record that is known. */
static int entry_take_start(struct goodput_parser *p, const cJSON *o, const char *key,
			    int64_t *ret_us)
{
	const cJSON *v = entry_field_known(o, key), *child;

	*ret_us = GOODPUT_UNKNOWN;
	if (v)
		return entry_take_time(p, v, key, ret_us);
	cJSON_ArrayForEach(child, o) if (entry_ends_with(child->string, "_start_time") &&
					 entry_microseconds(child, ret_us)) return 0;
	return 0;
}

static int entry_take_checkpoint(struct goodput_parser *p, const cJSON *o, size_t which,
				 struct goodput_record *r)
{
	const char *key = checkpoints[which].duration;
	const cJSON *duration = entry_field_known(o, key),
		    *directory = entry_field_known(o, "directory");
	int err;

	r->kind = (uint8_t)checkpoints[which].kind;
	err = entry_take_start(p, o, checkpoints[which].start, &r->time_us);
	if (!err)
		err = entry_take_count(p, o, "step", NUMBER_MAX, GOODPUT_UNKNOWN, &r->number);
	if (err)
		return err;
	if (duration && !entry_microseconds(duration, &r->duration_us))
		return entry_bad(p, key, "is not a duration");
	if (directory && !cJSON_IsString(directory))
		return entry_bad(p, "directory", "is not a string");
	r->partial = !duration;
	for (size_t i = 0; i < COUNT(checkpoints[which].others) && checkpoints[which].others[i];
	     i++)
		r->partial |= cJSON_IsNull(entry_field(o, checkpoints[which].others[i]));
	r->persistent = directory && !strncmp(directory->valuestring, "gs://", 5);
	return 0;
}

/* Reads the fields of a record. Returns 1; 0: not a goodput record; -EBADMSG. */
static int entry_take_record(struct goodput_parser *p, const cJSON *o, struct goodput_record *r)
{
	const cJSON *v;
	int err;

	for (size_t i = 0; i < COUNT(instants); i++) {
		v = entry_field(o, instants[i].key);
		if (!v)
			continue;
		r->kind = (uint8_t)instants[i].kind;
		err = entry_take_time(p, v, instants[i].key, &r->time_us);
		if (!err)
			err = entry_take_instant(p, o, r);
		return err ? err : 1;
	}
	v = entry_field(o, "event_type");
	for (size_t i = 0; cJSON_IsString(v) && i < COUNT(checkpoints); i++) {
		if (strcmp(v->valuestring, checkpoints[i].type) != 0)
			continue;
		err = entry_take_checkpoint(p, o, i, r);
		return err ? err : 1;
	}
	return 0;
}

/* Sets the write time of a record that has none. It is the first field with "time" in its name, as
 * in the goodput library; otherwise the time of the event; otherwise the write time of the previous
 * record. */
static int entry_guess_write(struct goodput_parser *p, const cJSON *o, struct goodput_record *r)
{
	const cJSON *child;

	cJSON_ArrayForEach(child, o)
	{
		if (!strstr(child->string, "time"))
			continue;
		if (entry_microseconds(entry_field(o, child->string), &r->write_us))
			return 0;
		break;
	}
	r->write_us = r->time_us != GOODPUT_UNKNOWN ? r->time_us : p->before_us;
	return r->write_us == GOODPUT_UNKNOWN ? entry_bad(p, "the record", "has no time") : 0;
}

static int entry_take_write(struct goodput_parser *p, const cJSON *top, const cJSON *o,
			    struct goodput_record *r)
{
	const char *key = top == o ? "_ts" : "timestamp";
	const cJSON *v = entry_field_known(top, key);
	int err = 0;

	if (!v)
		return entry_guess_write(p, o, r);
	if (top == o)
		err = entry_take_time(p, v, key, &r->write_us);
	else if (!cJSON_IsString(v) ||
		 epoch_parse(v->valuestring, strlen(v->valuestring), &r->write_us) ||
		 r->write_us > GOODPUT_TIME_MAX_US)
		err = entry_bad(p, key, "is not a time from 1970 to 2112");
	r->written = true;
	return err;
}

static void entry_take_id(const cJSON *top, struct goodput_entry *e)
{
	const cJSON *v = entry_field(top, "insertId");
	size_t len;

	e->id_hash = 0;
	memset(e->id, 0, sizeof(e->id));
	if (!cJSON_IsString(v) || !*v->valuestring)
		return;
	len = strlen(v->valuestring);
	memcpy(e->id, v->valuestring, len < sizeof(e->id) ? len : sizeof(e->id));
	e->id_hash = hash_bytes(HASH_START, v->valuestring, len);
	e->id_hash += !e->id_hash;
}

static int entry_take_entry(struct goodput_parser *p, const cJSON *top, struct goodput_entry *ret)
{
	const cJSON *payload = entry_field(top, "jsonPayload"),
		    *o = cJSON_IsObject(payload) ? payload : top;
	struct goodput_record r = {.number = GOODPUT_UNKNOWN, .duration_us = GOODPUT_UNKNOWN};
	int rc;

	p->before_us = ret->record.write_us;
	rc = entry_take_record(p, o, &r);
	if (rc <= 0)
		return rc;
	if (entry_take_name(p, o, "job_name", "", false, &r.job) || entry_take_write(p, top, o, &r))
		return -EBADMSG;
	ret->record = r;
	entry_take_id(top, ret);
	return 1;
}

/* Returns the length of a NaN or Infinity at p, as written by Python's json module; 0: p is another
 * text. */
static size_t entry_nan_length(const char *p, const char *end)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};

	for (size_t i = 0; i < COUNT(words); i++)
		if ((size_t)(end - p) >= strlen(words[i]) && !memcmp(p, words[i], strlen(words[i])))
			return strlen(words[i]);
	return 0;
}

/* Returns a copy of the text in which NaN and Infinity, which cJSON rejects, are replaced by [] and
 * blanks, which are not numbers either. NULL: there are none, or no memory. */
static char *entry_without_nan(const char *text, size_t len)
{
	bool in_text = false;
	char *copy = NULL;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		n = text[i] == '\\' && in_text ? 2 : 1;
		in_text ^= text[i] == '"';
		if (in_text || !entry_nan_length(text + i, text + len))
			continue;
		if (!copy) {
			copy = malloc(len);
			if (!copy)
				return NULL;
			memcpy(copy, text, len);
		}
		n = entry_nan_length(text + i, text + len);
		memset(copy + i, ' ', n);
		copy[i] = '[';
		copy[i + 1] = ']';
	}
	return copy;
}

int goodput_entry_parse(struct goodput_parser *p, const char *text, size_t len,
			struct goodput_entry *ret, char reason[GOODPUT_REASON_MAX])
{
	const char *end = text;
	char *copy = NULL;
	int rc = -EBADMSG;
	cJSON *top;

	p->reason = reason;
	goodput_arena_enter(p->arena);
	top = cJSON_ParseWithLengthOpts(text, len, &end, false);
	if (!top && (copy = entry_without_nan(text, len))) {
		top = cJSON_ParseWithLength(copy, len);
		end = text + len;
	}
	free(copy);
	if (!top)
		snprintf(reason, GOODPUT_REASON_MAX, "invalid JSON at byte %zu",
			 (size_t)(end - text) + 1);
	else if (!cJSON_IsObject(top) || end != text + len)
		snprintf(reason, GOODPUT_REASON_MAX, "not a JSON object");
	else
		rc = entry_take_entry(p, top, ret);
	goodput_arena_leave(p->arena, top);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "tests/unit/fixture.h"
#include "tests/unit/schema.h"
#include "userspace/base/json_text.h"
#include "userspace/export/export.h"
#include "userspace/export/file/json_line.h"

static void text_is_escaped(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "\"plain\""},
		{"", "\"\""},
		{"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"\n\t\x01\x1f", "\"\\u000a\\u0009\\u0001\\u001f\""},
		{"\x7f", "\"\\u007f\""},
		/* What turns a line round or ends it, where it is shown: right-to-left override,
		   line separator, a tag. */
		{"a\342\200\256b\342\200\250", "\"a\\u202eb\\u2028\""},
		{"\363\240\200\201", "\"\\udb40\\udc01\""},
		{"\302\233", "\"\\u009b\""},	    /* C1: drives terminals */
		{"gr\303\274n", "\"gr\303\274n\""}, /* UTF-8 stays */
		{"\360\237\230\200", "\"\360\237\230\200\""},
		{"\xff", "\"\357\277\275\""},				      /* no UTF-8 */
		{"\300\257", "\"\357\277\275\357\277\275\""},		      /* overlong */
		{"\355\240\200", "\"\357\277\275\357\277\275\357\277\275\""}, /* surrogate */
		{"x\342\202", "\"x\357\277\275\357\277\275\""},		      /* cut */
	};
	struct buffer b = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		buffer_clear(&b);
		json_string(&b, NULL, cases[i].in);
		assert_string_equal(b.data, cases[i].out);
	}
	buffer_free(&b);
}

static void every_byte_pair_parses(void **state)
{
	struct buffer b = {0};
	cJSON *j;

	(void)state;
	for (unsigned x = 1; x < 65536; x += 7) {
		char text[3] = {(char)(x & 0xff), (char)(x >> 8), 0};

		buffer_clear(&b);
		json_string(&b, NULL, text);
		j = cJSON_Parse(b.data);
		assert_true(cJSON_IsString(j));
		cJSON_Delete(j);
	}
	buffer_free(&b);
}

static void numbers_and_commas(void **state)
{
	struct buffer b = {0};

	(void)state;
	json_open(&b, NULL, '{');
	json_uint(&b, "max", UINT64_MAX);
	json_int(&b, "min", INT64_MIN);
	json_uint(&b, "zero", 0);
	json_real(&b, "real", 0.1);
	json_real(&b, "nan", NAN);
	json_real(&b, "inf", INFINITY);
	json_open(&b, "list", '[');
	json_bool(&b, NULL, true);
	json_null(&b, NULL);
	json_open(&b, NULL, '{');
	json_close(&b, '}');
	json_close(&b, ']');
	json_known(&b, "empty", "");
	json_nonzero(&b, "none", 0);
	json_close(&b, '}');
	assert_string_equal(b.data,
			    "{\"max\":18446744073709551615,\"min\":-9223372036854775808,\"zero\":0,"
			    "\"real\":0.1,\"nan\":null,\"inf\":null,\"list\":[true,null,{}],"
			    "\"empty\":null,\"none\":null}");
	buffer_free(&b);
}

static cJSON *line_of(const char *text)
{
	cJSON *schema = cJSON_Parse(export_json_schema), *j = cJSON_Parse(text);
	const cJSON *defs = cJSON_GetObjectItem(schema, "$defs"), *type;

	assert_non_null(schema);
	assert_non_null(j);
	assert_string_equal(j->child->string, "type");
	type = cJSON_GetObjectItemCaseSensitive(defs, j->child->valuestring);
	assert_non_null(type);
	if (!schema_validates(schema, type, j))
		fail_msg("not as the schema says: %s", text);
	cJSON_Delete(schema);
	return j;
}

/* What each type of fact was told as. */
static char told[FACT_TYPES][32];

static cJSON *line(const struct fact *f, const struct snapshot *last)
{
	struct buffer b = {0};
	cJSON *j;

	json_line(&b, f, last);
	assert_false(b.failed);
	assert_int_equal(b.data[b.len - 1], '\n');
	assert_ptr_equal(strchr(b.data, '\n'), b.data + b.len - 1);
	j = line_of(b.data);
	assert_string_equal(j->child->next->string, "seq");
	assert_int_equal(j->child->next->valueint, f->number);
	snprintf(told[f->type], sizeof(told[f->type]), "%s", j->child->valuestring);
	buffer_free(&b);
	return j;
}

static struct fact fact(enum fact_type type)
{
	return (struct fact){.type = type,
			     .number = 31,
			     .mono_ns = 12 * S,
			     .real_ns = 1795262400ll * (int64_t)S + 5,
			     .pid = 4242,
			     .rank = 0,
			     .world_size = 2,
			     .job = "mnist"};
}

static const cJSON *get(const cJSON *j, const char *key)
{
	const cJSON *i = cJSON_GetObjectItemCaseSensitive(j, key);

	if (!i)
		fail_msg("no field %s", key);
	return i;
}

static void start_and_end(void **state)
{
	static struct fixture fx;
	struct gp_end end = {.reason = GP_END_USER, .status = -1};
	struct fact f = fact(FACT_START);
	cJSON *j;

	(void)state;
	fixture_init(&fx);
	fixture_trainer(&fx, 4242, 0, 2);
	fx.s.lost[GP_LOSS_late] = 3;
	f.start = &fx.s.session;
	f.pid = 0;
	f.real_ns = 0;
	f.job = "";
	j = line(&f, NULL);
	assert_int_equal(get(j, "schema")->valueint, JSON_SCHEMA_VERSION);
	assert_true(cJSON_IsNull(get(j, "time")));
	assert_null(cJSON_GetObjectItem(j, "pid"));
	cJSON_Delete(j);
	f = fact(FACT_END);
	f.pid = 0;
	f.end = &end;
	j = line(&f, &fx.s);
	assert_string_equal(get(j, "reason")->valuestring, "user");
	assert_true(cJSON_IsNull(get(j, "status")));
	assert_int_equal(get(get(j, "losses"), "late")->valueint, 3);
	assert_int_equal(get(get(j, "overhead"), "hits")->valueint, 12340);
	cJSON_Delete(j);
	cJSON_Delete(line(&f, NULL));
}

static void rank_line(void **state)
{
	struct step_state st = {.state = STATE_LOCKED,
				.tier = TIER_A,
				.boundary = BOUNDARY_UPDATE_EXIT,
				.confidence = 0.99,
				.since_attach = true,
				.marker = "Optimizer.step#\x1b[2J",
				.ratios = "backward:4"};
	struct fact f = fact(FACT_RANK);
	cJSON *j;

	(void)state;
	f.state = &st;
	j = line(&f, NULL);
	assert_string_equal(get(j, "time")->valuestring, "2026-11-21T12:00:00.000000005Z");
	assert_string_equal(get(j, "state")->valuestring, "locked");
	assert_string_equal(get(j, "numbering")->valuestring, "since_attach");
	assert_string_equal(get(j, "marker")->valuestring, "Optimizer.step#\x1b[2J");
	assert_string_equal(get(j, "boundary")->valuestring, "update_exit");
	assert_true(cJSON_IsNull(get(j, "reason")));
	assert_int_equal(get(j, "world_size")->valueint, 2);
	cJSON_Delete(j);
	st = (struct step_state){.reason = "inference only"};
	f.rank = f.world_size = -1;
	f.job = "";
	j = line(&f, NULL);
	assert_true(cJSON_IsNull(get(j, "rank")));
	assert_true(cJSON_IsNull(get(j, "world_size")));
	assert_true(cJSON_IsNull(get(j, "job")));
	assert_true(cJSON_IsNull(get(j, "tier")));
	assert_true(cJSON_IsNull(get(j, "boundary")));
	cJSON_Delete(j);
}

static void step_line(void **state)
{
	struct fact_step fs = {.run_step = 7,
			       .step = {.number = 7,
					.start_ns = 10 * S,
					.end_ns = 10 * S + 31 * MS,
					.micro_batches = 4,
					.updates = 1,
					.tier = TIER_B,
					.flags = STEP_tainted | STEP_estimated,
					.boundary = BOUNDARY_BACKWARD},
			       .phases_known = 1u << PHASE_DATA | 1u << PHASE_SYNC};
	struct fact f = fact(FACT_STEP);
	cJSON *j;

	(void)state;
	fs.phase_ns[PHASE_DATA] = 5;
	fs.phase_ns[PHASE_UPDATE] = 99; /* not known: not told */
	f.step = &fs;
	j = line(&f, NULL);
	assert_int_equal(get(j, "step")->valueint, 7);
	assert_int_equal(get(j, "duration_ns")->valueint, 31000000);
	assert_string_equal(get(j, "series")->valuestring, "host");
	assert_int_equal(cJSON_GetArraySize(get(j, "flags")), 2);
	assert_string_equal(get(j, "flags")->child->valuestring, "tainted");
	assert_int_equal(cJSON_GetArraySize(get(j, "phases")), 2);
	assert_int_equal(get(get(j, "phases"), phase_name[PHASE_DATA])->valueint, 5);
	assert_int_equal(get(get(j, "phases"), phase_name[PHASE_SYNC])->valueint, 0);
	cJSON_Delete(j);
}

static void other_lines(void **state)
{
	struct fact_checkpoint c = {.start_ns = 5, .files = 1, .file = "ckpt \"1\".pt"};
	struct fact_range r = {
		.name = "evaluate", .bucket = BUCKET_EVAL, .start_ns = 1, .end_ns = 4};
	struct job_disruption d = {.number = 1,
				   .why = {.cause = CAUSE_killed, .exit_code = -1, .signal = 9}};
	struct gp_loss loss = {.cause = 200, .count = 4};
	struct ledger_view l = {.start_ns = 5, .now_ns = 105};
	struct fact f = fact(FACT_CHECKPOINT);
	cJSON *j;

	(void)state;
	f.checkpoint = &c;
	j = line(&f, NULL);
	assert_true(cJSON_IsNull(get(j, "end_ns")));
	assert_true(cJSON_IsNull(get(j, "bytes")));
	assert_string_equal(get(j, "op")->valuestring, "save");
	cJSON_Delete(j);
	f = fact(FACT_RANGE);
	f.range = &r;
	j = line(&f, NULL);
	assert_int_equal(get(j, "duration_ns")->valueint, 3);
	assert_string_equal(get(j, "bucket")->valuestring, "CUSTOM_BADPUT_EVENTS.EVAL");
	cJSON_Delete(j);
	f = fact(FACT_DISRUPTION);
	f.disruption = &d;
	j = line(&f, NULL);
	assert_true(cJSON_IsNull(get(j, "exit_code")));
	assert_int_equal(get(j, "signal")->valueint, 9);
	assert_true(cJSON_IsNull(get(j, "wasted_ns")));
	cJSON_Delete(j);
	l.ns[BUCKET_GOODPUT] = 60;
	l.ns[BUCKET_OTHER] = 40;
	f = fact(FACT_LEDGER);
	f.ledger = &l;
	j = line(&f, NULL);
	assert_int_equal(get(j, "elapsed_ns")->valueint, 100);
	assert_int_equal(cJSON_GetArraySize(get(j, "buckets")), BUCKETS_EXPORTED);
	assert_true(cJSON_IsNull(get(j, "max_productive_step")));
	assert_null(cJSON_GetObjectItem(j, "async")); /* of single ranges and saves, not of sums */
	cJSON_Delete(j);
	f = fact(FACT_LOSS);
	f.pid = 0;
	f.loss = &loss;
	j = line(&f, NULL);
	assert_string_equal(get(j, "source")->valuestring, "unknown");
	cJSON_Delete(j);
}

static void health_line(void **state)
{
	struct fact_health h = {.kind = "hang",
				.onset_ns = 7,
				.size_ns = 42 * S,
				.why = "collective",
				.phase = "",
				.evidence = "thread 7 waits on a futex"};
	struct fact f = fact(FACT_HEALTH);
	cJSON *j;

	(void)state;
	f.health = &h;
	j = line(&f, NULL);
	assert_string_equal(get(j, "kind")->valuestring, "hang");
	assert_string_equal(get(j, "why")->valuestring, "collective");
	assert_true(get(j, "size")->valuedouble == 42e9);
	assert_true(cJSON_IsFalse(get(j, "over")));
	assert_true(cJSON_IsNull(get(j, "phase")));
	assert_string_equal(get(j, "evidence")->valuestring, h.evidence);
	cJSON_Delete(j);
}

static void monitor_line(void **state)
{
	struct monitor_event ev = {
		.name = "torch.monitor.Stat",
		.wall_ns = 1700000000000000000ll,
		.count = 6,
		.nentries = 5,
		.truncated = true,
		.entry = {{.type = GP_MONITOR_DOUBLE, .key = "loss.mean"},
			  {.type = GP_MONITOR_DOUBLE, .key = "loss.max"},
			  {.type = GP_MONITOR_INT, .key = "i", .value = (uint64_t)INT64_MIN},
			  {.type = GP_MONITOR_BOOL, .key = "b", .value = 1},
			  {.type = GP_MONITOR_TEXT, .key = "t", .text = "a\"b"}}};
	struct fact f = fact(FACT_MONITOR);
	double mean = 0.1, most = -INFINITY;
	cJSON *j, *data;

	(void)state;
	memcpy(&ev.entry[0].value, &mean, sizeof(mean));
	memcpy(&ev.entry[1].value, &most, sizeof(most));
	f.monitor = &ev;
	j = line(&f, NULL);
	data = cJSON_GetObjectItem(j, "data");
	assert_string_equal(get(j, "wall_time")->valuestring, "2023-11-14T22:13:20.000000000Z");
	assert_true(get(data, "loss.mean")->valuedouble == 0.1);
	assert_true(cJSON_IsNull(get(data, "loss.max")));
	assert_string_equal(get(get(j, "not_finite"), "loss.max")->valuestring, "-inf");
	assert_true(get(data, "i")->valuedouble == -0x1p63);
	assert_true(cJSON_IsTrue(get(data, "b")));
	assert_string_equal(get(data, "t")->valuestring, "a\"b");
	assert_true(cJSON_IsTrue(get(j, "truncated")));
	cJSON_Delete(j);
	ev = (struct monitor_event){.name = ""};
	j = line(&f, NULL);
	assert_true(cJSON_IsNull(get(j, "wall_time")));
	assert_null(cJSON_GetObjectItem(j, "not_finite"));
	cJSON_Delete(j);
}

static void probe_line(void **state)
{
	struct attach_view a = {.id = "cuda.launch"};
	struct fact f = fact(FACT_PROBE);
	cJSON *j;

	(void)state;
	f.pid = 0;
	f.probe = &a;
	snprintf(a.at.library, sizeof(a.at.library), "/usr/lib/libcuda.so.1");
	for (a.at.state = 0; a.at.state <= GP_ATTACH_idle; a.at.state++) {
		a.group = a.at.state % 5;
		j = line(&f, NULL);
		assert_string_equal(get(j, "probe")->valuestring, "cuda.launch");
		assert_string_equal(get(j, "state")->valuestring,
				    event_attach_state_name(a.at.state));
		assert_string_equal(get(j, "group")->valuestring, event_group_name(a.group));
		cJSON_Delete(j);
	}
}

/* line() refuses what the schema does not list. */
static void every_word_is_in_the_schema(void **state)
{
	struct fact_health h = {.kind = "hang", .why = "unknown", .phase = "", .evidence = ""};
	struct job_disruption d = {.number = 1, .why = {.cause = CAUSE_killed, .exit_code = -1}};
	struct step_state st = {.tier = TIER_B};
	struct fact f = fact(FACT_RANK);

	(void)state;
	f.state = &st;
	for (int i = 0; i < BOUNDARY_COUNT; i++) {
		st.boundary = i;
		st.state = i % (STATE_ENDED + 1);
		st.unit = i % UNIT_COUNT;
		st.series = i % SERIES_COUNT;
		cJSON_Delete(line(&f, NULL));
	}
	for (int i = 0; i < FAULT_COUNT; i++) {
		h.kind = fault_name[i];
		d.why.cause = disruption_cause_of_fault(i);
		f = fact(FACT_HEALTH);
		f.health = &h;
		cJSON_Delete(line(&f, NULL));
		f = fact(FACT_DISRUPTION);
		f.disruption = &d;
		cJSON_Delete(line(&f, NULL));
	}
}

static void is_in_enum(const cJSON *def, const char *property, const char *word)
{
	const cJSON *i, *words = get(get(get(def, "properties"), property), "enum");

	cJSON_ArrayForEach(i, words)
	{
		if (!strcmp(i->valuestring, word))
			return;
	}
	fail_msg("the schema's enum of %s lacks %s", property, word);
}

static void schema_has_every_cause(void **state)
{
	cJSON *schema = cJSON_Parse(export_json_schema);
	const cJSON *defs = cJSON_GetObjectItem(schema, "$defs");

	(void)state;
	for (int i = 0; i < FAULT_COUNT; i++)
		is_in_enum(get(defs, "health"), "kind", fault_name[i]);
	for (int i = CAUSE_none + 1; i < CAUSE_COUNT; i++)
		is_in_enum(get(defs, "disruption"), "cause", disruption_cause_name[i]);
	cJSON_Delete(schema);
}

/* The last test: the ones before told a fact of each type. */
static void schema_is_complete(void **state)
{
	cJSON *schema = cJSON_Parse(export_json_schema), *i, *bad;
	uint32_t types = 0;

	(void)state;
	assert_non_null(schema);
	cJSON_ArrayForEach(i, cJSON_GetObjectItem(schema, "oneOf"))
	{
		const char *ref = cJSON_GetObjectItem(i, "$ref")->valuestring;
		const cJSON *def = cJSON_GetObjectItemCaseSensitive(
			cJSON_GetObjectItem(schema, "$defs"), ref + 8);

		assert_non_null(def);
		assert_string_equal(get(get(get(def, "properties"), "type"), "const")->valuestring,
				    ref + 8);
		/* The validator above refuses: nothing that is required may be absent. */
		bad = cJSON_CreateObject();
		assert_false(schema_validates(schema, def, bad));
		cJSON_Delete(bad);
		for (uint32_t n = 0; n < FACT_TYPES; n++)
			types |= (uint32_t)!strcmp(told[n], ref + 8) << n;
	}
	for (uint32_t n = 0; n < FACT_TYPES; n++) {
		if (!*told[n])
			fail_msg("no fact of type %u was told", n);
		if (!(types >> n & 1))
			fail_msg("%s is in no oneOf", told[n]);
	}
	cJSON_Delete(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_escaped),
		cmocka_unit_test(every_byte_pair_parses),
		cmocka_unit_test(numbers_and_commas),
		cmocka_unit_test(probe_line),
		cmocka_unit_test(start_and_end),
		cmocka_unit_test(rank_line),
		cmocka_unit_test(step_line),
		cmocka_unit_test(other_lines),
		cmocka_unit_test(health_line),
		cmocka_unit_test(monitor_line),
		cmocka_unit_test(every_word_is_in_the_schema),
		cmocka_unit_test(schema_has_every_cause),
		cmocka_unit_test(schema_is_complete),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

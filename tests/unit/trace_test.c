/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "tests/unit/fixture.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/export/trace/trace_track.h"

struct test {
	char path[40], spec[80];
	struct export_set *set;
	struct export_options opt;
	uint64_t number;
	char *text;
	cJSON *json;
	int events;
};

static char captured[4096];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static void begin(struct test *t, const char *size)
{
	memset(t, 0, sizeof(*t));
	captured[0] = '\0';
	log_sink(capture, NULL);
	snprintf(t->path, sizeof(t->path), "/tmp/gp-bpf-trace-XXXXXX");
	close(mkstemp(t->path));
	snprintf(t->spec, sizeof(t->spec), "trace:%s%s", t->path, size);
	assert_int_equal(export_set_new(&t->set, &t->opt), 0);
	assert_int_equal(export_set_add(t->set, t->spec), 0);
}

static char *file_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text;
	long len;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)len + 1);
	assert_int_equal(fread(text, 1, (size_t)len, f), len);
	fclose(f);
	return text;
}

static void close_trace(struct test *t)
{
	assert_int_equal(export_set_close(t->set), 0);
	t->text = file_text(t->path);
	t->json = cJSON_Parse(t->text);
	assert_true(cJSON_IsArray(t->json));
	t->events = cJSON_GetArraySize(t->json);
}

static void end(struct test *t)
{
	cJSON_Delete(t->json);
	free(t->text);
	unlink(t->path);
	log_sink(NULL, NULL);
}

static struct fact fact(struct test *t, enum fact_type type)
{
	return (struct fact){.type = type,
			     .number = ++t->number,
			     .mono_ns = 12 * S,
			     .real_ns = 1795262412ll * (int64_t)S,
			     .pid = 4242,
			     .start_ns = 1,
			     .rank = 3,
			     .world_size = 8,
			     .job = "llama"};
}

static void step_of(struct test *t, uint32_t loop, uint64_t from_ns, uint64_t to_ns, uint32_t flags)
{
	struct fact_step fs = {
		.step = {.loop = loop,
			 .number = t->number + 1,
			 .start_ns = from_ns,
			 .end_ns = to_ns,
			 .updates = 1,
			 .flags = flags,
			 .tier = TIER_A},
		.run_step = t->number + 1,
		.phases_known = 1u << PHASE_DATA,
		.phase_ns = {[PHASE_DATA] = 5},
	};
	struct fact f = fact(t, FACT_STEP);

	f.step = &fs;
	export_set_fact(t->set, &f);
}

static void range_of(struct test *t, const char *name, uint64_t from_ns, uint64_t to_ns, bool async)
{
	static const struct type_names types;
	struct fact_range r = {.name = name,
			       .bucket = BUCKET_CUSTOM,
			       .start_ns = from_ns,
			       .end_ns = to_ns,
			       .async = async};
	struct fact f = fact(t, FACT_RANGE);

	f.types = &types;
	f.range = &r;
	export_set_fact(t->set, &f);
}

/* The n-th event (from 0) of that type and name; name NULL: any. */
static const cJSON *event_of(const struct test *t, const char *ph, const char *name, int n)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, t->json)
	{
		if (!strcmp(cJSON_GetObjectItem(e, "ph")->valuestring, ph) &&
		    (!name || !strcmp(cJSON_GetObjectItem(e, "name")->valuestring, name)) && !n--)
			return e;
	}
	return NULL;
}

static double number_of(const cJSON *e, const char *key)
{
	return cJSON_GetObjectItem(e, key)->valuedouble;
}

static void a_step_to_the_byte(void **state)
{
	struct test t;

	(void)state;
	begin(&t, "");
	step_of(&t, 0, 10 * S + 1, 11 * S + 20, STEP_recompiled);
	close_trace(&t);
	assert_non_null(
		strstr(t.text, "{\"ph\":\"X\",\"cat\":\"step\",\"name\":\"step\",\"pid\":"));
	assert_non_null(strstr(
		t.text, ",\"tid\":1,\"ts\":10000000.001,\"dur\":1000000.019,\"args\":{\"step\":1,"
			"\"recompiled\":true,\"data_ns\":5,\"seq\":1}},\n"));
	assert_non_null(strstr(t.text, "\"ts\":10000000.001,\"args\":{\"us\":1000000.019}}"));
	assert_non_null(strstr(t.text, "{\"name\":\"llama rank 3\"}"));
	assert_non_null(strstr(t.text, "{\"labels\":\"pid 4242\"}"));
	/* 1795262412 s, less 12 s of the other clock. */
	assert_non_null(strstr(t.text, "\"time_of_ts_0\":\"2026-11-21T12:00:00.000000000Z\""));
	assert_memory_equal(t.text, "[\n", 2);
	assert_string_equal(t.text + strlen(t.text) - 3, "}]\n");
	end(&t);
}

/* Where it is known; on lanes of their own, before their step and in its line. */
static void phases_and_waits_to_the_byte(void **state)
{
	static const char *const at[] = {
		"{\"ph\":\"X\",\"cat\":\"phase\",\"name\":\"data\",\"pid\":PID,\"tid\":17,"
		"\"ts\":10000000.000,\"dur\":1.005},",
		"{\"ph\":\"X\",\"cat\":\"phase\",\"name\":\"backward\",\"pid\":PID,\"tid\":17,"
		"\"ts\":10000002.000,\"dur\":400000.000},",
		"{\"ph\":\"X\",\"cat\":\"blocked\",\"name\":\"collective\",\"pid\":PID,\"tid\":33,"
		"\"ts\":10300000.000,\"dur\":100000.001},",
		"{\"ph\":\"X\",\"cat\":\"step\",\"name\":\"step\",\"pid\":PID,\"tid\":1,"
		"\"ts\":10000000.000,",
	};
	struct fact_step fs = {
		.step = {.number = 1,
			 .start_ns = 10 * S,
			 .end_ns = 11 * S,
			 .updates = 1,
			 .tier = TIER_A},
		.run_step = 1,
		.phases_known = 1u << PHASE_DATA | 1u << PHASE_BACKWARD | 1u << PHASE_COLLECTIVE,
		.piece = {{PHASE_DATA, 10 * S, 10 * S + 1005},
			  {PHASE_FORWARD, 10 * S + 1500, 10 * S + 2000},
			  {PHASE_BACKWARD, 10 * S + 2000, 10 * S + 400 * MS + 2000},
			  {PHASE_DATA, 10 * S, 10 * S + 2000}, /* across others: it has no place */
			  {PHASE_DATA, 10 * S + 500 * MS, 12 * S}},
		.npieces = 5,
		.blocked = {{PHASE_COLLECTIVE, 10 * S + 300 * MS, 10 * S + 400 * MS + 1}},
		.nblocked = 1,
	};
	struct test t;
	struct fact f;
	char line[2048], want[256], pid[16];
	const char *from;

	(void)state;
	begin(&t, "");
	f = fact(&t, FACT_STEP);
	f.step = &fs;
	export_set_fact(t.set, &f);
	close_trace(&t);
	snprintf(pid, sizeof(pid), "%.0f", number_of(event_of(&t, "X", "step", 0), "pid"));
	from = strstr(t.text, "{\"ph\":\"C\"");
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(from, "\n"), from);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		const char *cut = strstr(at[i], "PID");

		snprintf(want, sizeof(want), "%.*s%s%s", (int)(cut - at[i]), at[i], pid, cut + 3);
		from = strstr(line, want);
		assert_non_null(from);
	}
	assert_null(event_of(&t, "X", "forward", 0));
	assert_null(event_of(&t, "X", "data", 1));
	assert_non_null(strstr(t.text, "{\"name\":\"phases\"}"));
	assert_non_null(strstr(t.text, "{\"name\":\"collectives, waits\"}"));
	end(&t);
}

static void what_overlaps_gets_lanes_of_its_own(void **state)
{
	struct test t;

	(void)state;
	begin(&t, "");
	for (int i = 0; i < 5; i++)
		range_of(&t, "r", 10 * S, 20 * S, false);
	range_of(&t, "r", 20 * S, 21 * S, false);
	range_of(&t, "aside", 1 * S, 2 * S, true);
	step_of(&t, STEP_LOOPS + 4, 1 * S, 3 * S, 0);
	step_of(&t, STEP_LOOPS + 9, 2 * S, 4 * S, 0);
	close_trace(&t);
	for (int i = 0; i < 4; i++)
		assert_int_equal(number_of(event_of(&t, "X", "r", i), "tid") -
					 number_of(event_of(&t, "X", "r", 0), "tid"),
				 i);
	assert_int_equal(number_of(event_of(&t, "X", "r", 4), "tid"),
			 number_of(event_of(&t, "X", "r", 0), "tid"));
	/* The fifth at once, the one of another thread, and the step of a loop that shares a
	 * lane. */
	assert_non_null(event_of(&t, "b", "r", 0));
	assert_null(event_of(&t, "b", "r", 1));
	assert_int_equal(number_of(event_of(&t, "b", "aside", 0), "ts"), 1000000);
	assert_int_equal(number_of(event_of(&t, "e", "aside", 0), "ts"), 2000000);
	assert_non_null(event_of(&t, "X", "step", 0));
	assert_int_equal(number_of(event_of(&t, "e", "step", 0), "ts"), 4000000);
	end(&t);
}

static void one_track_for_a_rank_over_its_runs(void **state)
{
	struct fact_checkpoint c = {
		.start_ns = 5 * S, .end_ns = 6 * S, .closed = true, .file = "a"};
	struct test t;
	struct fact f;
	double pid;

	(void)state;
	begin(&t, "");
	step_of(&t, 0, 1 * S, 2 * S, 0);
	for (uint32_t i = 0; i < 2;
	     i++) { /* another process of that rank: the second while the first runs */
		f = fact(&t, FACT_CHECKPOINT);
		f.pid = 5000 + i;
		f.checkpoint = &c;
		export_set_fact(t.set, &f);
	}
	close_trace(&t);
	pid = number_of(event_of(&t, "X", "step", 0), "pid");
	assert_true(pid == number_of(event_of(&t, "X", "save", 0), "pid"));
	assert_true(pid != number_of(event_of(&t, "X", "save", 1), "pid"));
	end(&t);
}

static void causes_of_a_slowdown(void **state)
{
	struct time_causes causes = {.lost_ns = 100,
				     .ns = {[TIME_CAUSE_disk] = 75, [TIME_CAUSE_unknown] = 25}};
	struct fact_health h = {
		.kind = "fail_slow", .why = "disk", .causes = &causes, .onset_ns = 5 * S};
	const cJSON *of;
	struct test t;
	struct fact f;

	(void)state;
	begin(&t, "");
	step_of(&t, 0, 1 * S, 2 * S, 0);
	f = fact(&t, FACT_HEALTH);
	f.health = &h;
	export_set_fact(t.set, &f);
	close_trace(&t);
	of = cJSON_GetObjectItem(cJSON_GetObjectItem(event_of(&t, "i", "fail_slow", 0), "args"),
				 "causes");
	assert_int_equal(cJSON_GetArraySize(of), 2);
	assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(of, 1), "cause")->valuestring,
			    "disk");
	assert_true(number_of(cJSON_GetArrayItem(of, 1), "share") == 0.75);
	end(&t);
}

static struct fact of_process(uint32_t pid, uint64_t mono_ns)
{
	return (struct fact){
		.pid = pid, .start_ns = pid, .rank = -1, .job = "", .mono_ns = mono_ns};
}

/* Jobs come and go: there is room for new ones, and who tells again has the number of before. */
static void tracks_of_which_nothing_is_told_are_forgotten(void **state)
{
	struct trace_tracks *ts = trace_tracks_new();
	uint64_t later = TRACK_KEEP_NS / 2;
	struct trace_track *t;
	struct fact f;
	uint32_t number;

	(void)state;
	f = of_process(1, 1);
	number = trace_tracks_find(ts, &f, false, 1)->number;
	for (uint32_t pid = 2; pid < TRACKS_MAX; pid++) { /* one is that of all that have no job */
		f = of_process(pid, 1);
		t = trace_tracks_find(ts, &f, false, 1);
		assert_non_null(t);
		t->named = true;
	}
	f = of_process(TRACKS_MAX, 1);
	assert_null(trace_tracks_find(ts, &f, false, 1));
	f = of_process(2, later);
	trace_tracks_find(ts, &f, false, later);
	later = TRACK_KEEP_NS + 1;
	f = of_process(TRACKS_MAX, later);
	assert_non_null(trace_tracks_find(ts, &f, false, later));
	f = of_process(2, later);
	assert_true(trace_tracks_find(ts, &f, false, later)->named);
	f = of_process(3, later);
	assert_false(trace_tracks_find(ts, &f, false, later)->named);
	f = of_process(1, later);
	assert_int_equal(trace_tracks_find(ts, &f, false, later)->number, number);
	trace_tracks_free(ts);
}

static void hostile_names_stay_names(void **state)
{
	static const char name[] = "\"}]\n\\,{\"ph\":\"X\"\x01\xff\x7f<script>\"seq\":99";
	struct test t;

	(void)state;
	begin(&t, "");
	range_of(&t, name, 2 * S, 1 * S, false); /* and time that runs backwards */
	close_trace(&t);
	assert_true(
		number_of(event_of(&t, "X",
				   "\"}]\n\\,{\"ph\":\"X\"\x01\xef\xbf\xbd\x7f<script>\"seq\":99",
				   0),
			  "dur") == 0);
	for (const char *at = t.text; *at; at++)
		assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
	end(&t);
}

static void the_size_is_kept_and_what_is_left_out_is_counted(void **state)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	const cJSON *last;
	uint64_t steps = 0;
	struct test t;
	uint64_t dropped;

	(void)state;
	begin(&t, ",size=1M");
	for (uint64_t i = 0; i < 100000; i++)
		step_of(&t, 0, i * MS, (i + 1) * MS, i % 1000 ? 0 : STEP_tainted);
	for (uint64_t i = 0; i < 10000; i++)
		range_of(&t, "a range", (200000 + i) * MS, (200001 + i) * MS, false);
	export_set_view(t.set, s);
	assert_string_equal(s->exports[0].name, "trace");
	assert_string_equal(s->exports[0].dropped[0].cause, "size");
	dropped = s->exports[0].dropped[0].count;
	close_trace(&t);
	assert_true(strlen(t.text) <= 1 << 20);
	assert_true(strlen(t.text) > 900000);
	assert_non_null(event_of(
		&t, "i", "from here on 1 step of 10 is drawn: the file nears its size limit", 0));
	while (event_of(&t, "X", "step", (int)steps))
		steps += 997; /* a search each: some are enough */
	last = cJSON_GetArrayItem(t.json, t.events - 1);
	assert_string_equal(cJSON_GetObjectItem(last, "name")->valuestring, "end of the trace");
	last = cJSON_GetObjectItem(last, "args");
	assert_true(number_of(last, "steps") > 1000 && number_of(last, "others_left_out") > 100);
	assert_int_equal(number_of(last, "steps") + number_of(last, "steps_left_out"), 100000);
	assert_int_equal(number_of(last, "steps_left_out") + number_of(last, "others_left_out"),
			 dropped);
	assert_true(steps >= number_of(last, "steps") && steps - number_of(last, "steps") < 1000);
	assert_non_null(strstr(captured, "not drawn"));
	free(s);
	end(&t);
}

static uint64_t steps_in(const struct test *t)
{
	uint64_t n = 0;

	while (event_of(t, "X", "step", (int)n))
		n++;
	return n;
}

/* A predecessor was killed in the middle of a line; or closed its trace. */
static void a_successor_goes_on(void **state)
{
	struct test t;
	int fd;

	(void)state;
	for (int torn = 0; torn < 2; torn++) {
		begin(&t, "");
		for (uint64_t i = 1; i <= 3; i++)
			step_of(&t, 0, i * S, (i + 1) * S, 0);
		assert_int_equal(export_set_close(t.set), 0);
		if (torn) {
			char *text = file_text(t.path), *at = strstr(text, "\"seq\":3");

			assert_non_null(at);
			assert_int_equal(truncate(t.path, at - text), 0);
			free(text);
		}
		t.opt.resume = true;
		assert_int_equal(export_set_new(&t.set, &t.opt), 0);
		assert_int_equal(export_set_add(t.set, t.spec), 0);
		assert_int_equal(export_set_last_written(t.set), torn ? 2 : 3);
		t.number = 0;
		for (uint64_t i = 1; i <= 4; i++)
			step_of(&t, 0, i * S, (i + 1) * S, 0);
		close_trace(&t);
		assert_int_equal(steps_in(&t), 4);
		end(&t);
	}
	begin(&t, ""); /* nothing is in the file yet */
	fd = open(t.path, O_WRONLY | O_TRUNC);
	close(fd);
	assert_int_equal(export_set_close(t.set), 0);
	t.opt.resume = true;
	assert_int_equal(truncate(t.path, 0), 0);
	assert_int_equal(export_set_new(&t.set, &t.opt), 0);
	assert_int_equal(export_set_add(t.set, t.spec), 0);
	close_trace(&t);
	end(&t);
}

static void a_full_disk_is_told_and_counted(void **state)
{
	static struct fixture fx;
	struct test t;

	(void)state;
	fixture_init(&fx);
	begin(&t, "");
	assert_int_equal(export_set_close(t.set), 0);
	snprintf(t.spec, sizeof(t.spec), "trace:/dev/full");
	assert_int_equal(export_set_new(&t.set, &t.opt), 0);
	assert_int_equal(export_set_add(t.set, t.spec), 0);
	for (uint64_t i = 0; i < 3; i++) {
		step_of(&t, 0, i * S, (i + 1) * S, 0);
		export_set_snapshot(t.set, &fx.s);
	}
	export_set_view(t.set, &fx.s);
	assert_false(fx.s.exports[0].up);
	assert_int_equal(fx.s.exports[0].sent, 0);
	assert_string_equal(fx.s.exports[0].dropped[3].cause, "write");
	assert_true(fx.s.exports[0].dropped[3].count >= 3);
	assert_non_null(strstr(fx.s.exports[0].trouble, "No space"));
	assert_int_equal(export_set_close(t.set), -ENOSPC);
	/* When it begins, and at the end how much it was. */
	assert_non_null(strstr(captured, " lines were not written: No space left on device\n"));
	assert_ptr_equal(strchr(strchr(captured, '\n') + 1, '\n'), captured + strlen(captured) - 1);
	unlink(t.path);
	log_sink(NULL, NULL);
}

static void bad_arguments(void **state)
{
	static const char *const bad[] = {"trace",
					  "trace:",
					  "trace:,size=1M",
					  "trace:/tmp/x,size=1",
					  "trace:/tmp/x,size=-1M",
					  "trace:/tmp/x,size=1X",
					  "trace:/tmp/x,size=",
					  "trace:/tmp/x,size=9999999999999G"};
	struct test t;

	(void)state;
	begin(&t, "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		captured[0] = '\0';
		assert_int_equal(export_set_add(t.set, bad[i]), -EINVAL);
		assert_non_null(strstr(captured, "--export trace"));
	}
	assert_int_equal(export_set_add(t.set, "trace:/nonexistent/x"), -ENOENT);
	close_trace(&t);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_to_the_byte),
		cmocka_unit_test(phases_and_waits_to_the_byte),
		cmocka_unit_test(what_overlaps_gets_lanes_of_its_own),
		cmocka_unit_test(one_track_for_a_rank_over_its_runs),
		cmocka_unit_test(causes_of_a_slowdown),
		cmocka_unit_test(tracks_of_which_nothing_is_told_are_forgotten),
		cmocka_unit_test(hostile_names_stay_names),
		cmocka_unit_test(the_size_is_kept_and_what_is_left_out_is_counted),
		cmocka_unit_test(a_successor_goes_on),
		cmocka_unit_test(a_full_disk_is_told_and_counted),
		cmocka_unit_test(bad_arguments),
	};

	return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}

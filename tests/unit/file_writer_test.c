/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written aside: what a disk that is full, and has room again, leaves in them; one
 * that never answers; whoever kills the process that writes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "tests/unit/fixture.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/export/export.h"
#include "userspace/export/file/file_writer.h"
#include "userspace/export/file/line_writer.h"

#define ROOM 10000 /* of a disk that is full */

static char captured[8192], path[64];

static void capture(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(captured + strlen(captured), sizeof(captured) - strlen(captured), "%s\n", text);
}

static int begin(void **state)
{
	int fd;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	captured[0] = '\0';
	log_sink(capture, NULL);
	strcpy(path, "/tmp/gp-bpf-file_writer-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int end(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	while (waitpid(-1, NULL, WNOHANG) > 0) /* what was given up */
		;
	return unlink(path);
}

/* The process that writes: the last child that there is. */
static pid_t writer(void)
{
	char name[64];
	int pid = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(name, "r");
	assert_non_null(f);
	while (fscanf(f, "%d", &pid) == 1)
		;
	fclose(f);
	assert_true(pid > 0);
	return pid;
}

static void limit(struct rlimit *was, rlim_t bytes)
{
	assert_int_equal(getrlimit(RLIMIT_FSIZE, was), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE,
				   &(struct rlimit){.rlim_cur = bytes, .rlim_max = was->rlim_max}),
			 0);
}

static void room_again(const struct rlimit *was)
{
	assert_int_equal(prlimit(writer(), RLIMIT_FSIZE, was, NULL), 0);
}

/* NUL-terminated; to be freed. */
static char *content(size_t *ret_len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *text;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	text = malloc((size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
	text[st.st_size] = '\0';
	*ret_len = (size_t)st.st_size;
	close(fd);
	return text;
}

static void holds(const char *expected)
{
	size_t len;
	char *text = content(&len);

	assert_string_equal(text, expected);
	free(text);
}

/* Where the process was killed another one is asked, and waited for. */
static struct file_writer_result answer(struct file_writer *w)
{
	struct file_writer_result result = {0};

	assert_int_equal(file_writer_take(w, 5000, &result), 0);
	return result;
}

static struct file_writer_result give(struct file_writer *w, const char *text)
{
	assert_int_equal(file_writer_give(w, text, strlen(text)), strlen(text));
	return answer(w);
}

static void what_is_given_is_there(void **state)
{
	struct file_writer_result result;
	struct file_writer *w;

	(void)state;
	assert_int_equal(file_writer_open(&w, path, false, NULL), 0);
	result = give(w, "one\n");
	assert_int_equal(result.bytes, 4);
	assert_int_equal(result.err, 0);
	holds("one\n");
	assert_int_equal(file_writer_close(w, 5000), 0);
	assert_int_equal(file_writer_open(&w, path, true, NULL), 0);
	give(w, "two\n");
	assert_int_equal(file_writer_close(w, 5000), 0);
	holds("one\ntwo\n");
	assert_int_equal(file_writer_open(&w, path, false, NULL), 0);
	holds("");
	assert_int_equal(file_writer_close(w, 5000), 0);
	assert_int_equal(file_writer_close(NULL, 0), 0);
	assert_int_equal(waitpid(-1, NULL, 0), -1); /* none is left */
}

static void what_is_no_file_is_the_callers(void **state)
{
	struct file_writer *w;

	(void)state;
	assert_int_equal(file_writer_open(&w, "/dev/null", false, NULL), -ENOTSUP);
	assert_int_equal(file_writer_open(&w, "/dev/fd/0", false, NULL), -ENOTSUP);
	assert_int_equal(file_writer_open(&w, "/tmp", false, NULL), -ENOTSUP);
	assert_int_equal(file_writer_open(&w, "/nonexistent/x", false, NULL), -ENOENT);
}

static void a_part_is_cut_off(void **state)
{
	struct file_writer_result result;
	struct rlimit was;
	struct file_writer *w;

	(void)state;
	limit(&was, 10);
	assert_int_equal(file_writer_open(&w, path, false, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	result = give(w, "first\nsecond\nthird\n");
	assert_int_equal(result.bytes, 6);
	assert_int_equal(result.err, -EFBIG);
	holds("first\n");
	result = give(w, "second\nthird\n");
	assert_int_equal(result.bytes, 0);
	assert_int_equal(result.err, -EFBIG);
	room_again(&was);
	result = give(w, "second\nthird\n");
	assert_int_equal(result.bytes, 13);
	assert_int_equal(result.err, 0);
	holds("first\nsecond\nthird\n");
	assert_int_equal(file_writer_close(w, 5000), 0);
}

/* Whole lines at once, and a line that is longer than that in parts. */
static void much_at_once(void **state)
{
	size_t len = FILE_WRITER_TEXT_MAX * 3, at = 0, n, there;
	char *text = malloc(len), *is;
	struct file_writer_result result;
	struct file_writer *w;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	text[99] = text[len - 1] = '\n';
	assert_int_equal(file_writer_open(&w, path, false, NULL), 0);
	for (; at < len; at += n) {
		n = file_writer_give(w, text + at, len - at);
		assert_in_range(n, 1, FILE_WRITER_TEXT_MAX);
		if (!at)
			assert_int_equal(n, 100);
		assert_int_equal(file_writer_take(w, 5000, &result), 0);
		assert_int_equal(result.bytes, n);
	}
	assert_int_equal(file_writer_close(w, 5000), 0);
	is = content(&there);
	assert_int_equal(there, len);
	assert_memory_equal(is, text, len);
	free(is);
	free(text);
}

static void killed_it_goes_on(void **state)
{
	struct file_writer_result result;
	struct file_writer *w;
	int fd;

	(void)state;
	assert_int_equal(file_writer_open(&w, path, false, NULL), 0);
	give(w, "one\n");
	kill(writer(), SIGKILL);
	assert_int_equal(give(w, "two\n").bytes, 4);
	holds("one\ntwo\n");
	/* It got to a part of the text before it was killed. */
	kill(writer(), SIGSTOP);
	file_writer_give(w, "three\nfour\nfive\n", 16);
	assert_int_equal(file_writer_take(w, 0, &result), -EAGAIN);
	kill(writer(), SIGKILL);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "three\nfo", 8), 8);
	close(fd);
	assert_int_equal(answer(w).bytes, 16);
	holds("one\ntwo\nthree\nfour\nfive\n");
	assert_int_equal(file_writer_close(w, 5000), 0);
}

/* One that is stopped stands for one that a disk holds. */
static void never_answered(void **state)
{
	uint64_t from_ns;
	struct file_writer_result result;
	struct file_writer *w;

	(void)state;
	assert_int_equal(file_writer_open(&w, path, false, NULL), 0);
	kill(writer(), SIGSTOP);
	assert_int_equal(file_writer_give(w, "one\n", 4), 4);
	assert_int_equal(file_writer_take(w, 20, &result), -EAGAIN);
	from_ns = clock_mono_ns();
	assert_int_equal(file_writer_close(w, 100), -ETIMEDOUT);
	assert_true(clock_mono_ns() - from_ns < 2 * S);
	holds("");
	waitpid(-1, NULL, 0); /* it was killed */
	/* What was asked last is the close. */
	assert_int_equal(file_writer_open(&w, path, false, NULL), 0);
	give(w, "one\n");
	kill(writer(), SIGSTOP);
	assert_int_equal(file_writer_close(w, 100), -ETIMEDOUT);
}

/* ---- exporters ------------------------------------------------------------------------------- */

static void tell(struct export_set *set, uint64_t number)
{
	struct fact_range r = {
		.name = "a range with a name", .start_ns = number * S, .end_ns = number * S + 1};
	struct fact f = {.type = FACT_RANGE,
			 .number = number,
			 .mono_ns = number * S,
			 .pid = 4242,
			 .rank = 0,
			 .world_size = 1,
			 .job = "job",
			 .range = &r};

	export_set_fact(set, &f);
}

static struct export_set *opened(const char *format)
{
	struct export_set *set;
	char spec[96];

	snprintf(spec, sizeof(spec), "%s:%s", format, path);
	assert_int_equal(export_set_new(&set, &(struct export_options){0}), 0);
	assert_int_equal(export_set_add(set, spec), 0);
	return set;
}

static uint64_t dropped(const struct export_view *v)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < v->ndropped; i++)
		n += v->dropped[i].count;
	return n;
}

/* A disk that is full for longer than what is kept lasts, and then is not: lines that were told,
 * that are missing. */
static uint64_t gap_of(const char *format, uint64_t *ret_dropped)
{
	uint64_t number = 0, told;
	struct export_view *view;
	struct export_set *set;
	static struct fixture fx;
	struct rlimit was;

	fixture_init(&fx);
	view = &fx.s.exports[0];
	limit(&was, ROOM);
	set = opened(format);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	/* The answer that it is full is to be there, for what is dropped is dropped for that. */
	for (; number < 100; number++)
		tell(set, number + 1);
	for (view->up = true; view->up; export_set_view(set, &fx.s))
		export_set_snapshot(set, &fx.s);
	while (!dropped(view) && number < 100000) {
		for (int i = 0; i < 1000; i++)
			tell(set, ++number);
		export_set_view(set, &fx.s);
	}
	assert_in_range(dropped(view), 1, 1000);
	assert_in_range(view->waiting_bytes, LINE_WRITER_KEPT_BYTES - 1000,
			LINE_WRITER_KEPT_BYTES + 1000);
	room_again(&was);
	for (told = dropped(view); view->waiting_bytes > 1000; export_set_view(set, &fx.s)) {
		export_set_snapshot(set, &fx.s);
		usleep(1000);
	}
	for (int i = 0; i < 100; i++)
		tell(set, ++number);
	assert_int_not_equal(export_set_close(set), 0);
	*ret_dropped = told;
	return number;
}

static void lines_go_on_behind_a_gap(void **state)
{
	uint64_t missing, told = gap_of("json", &missing), last = 0, lines = 0;
	size_t len;
	char *text = content(&len), *next, line[80];
	bool marked = false;

	(void)state;
	assert_int_equal(text[len - 1], '\n');
	for (char *at = text; *at; at = next) {
		cJSON *j, *seq;

		next = strchr(at, '\n') + 1;
		next[-1] = '\0';
		j = cJSON_Parse(at);
		assert_non_null(j);
		seq = cJSON_GetObjectItem(j, "seq");
		if (!strcmp(cJSON_GetObjectItem(j, "type")->valuestring, "loss")) {
			assert_false(marked);
			marked = true;
			assert_string_equal(cJSON_GetObjectItem(j, "source")->valuestring,
					    "export");
			assert_int_equal(cJSON_GetObjectItem(j, "count")->valuedouble, missing);
			assert_int_equal(seq->valuedouble, last + missing);
		} else {
			assert_int_equal(seq->valuedouble, last + 1);
			lines++;
		}
		last = (uint64_t)seq->valuedouble;
		cJSON_Delete(j);
	}
	free(text);
	assert_true(marked);
	assert_int_equal(lines + missing, told);
	assert_non_null(strstr(captured, "File too large; up to 4 MB are kept and retried\n"));
	snprintf(line, sizeof(line), ": writing resumed; %d lines are missing\n", (int)missing);
	assert_non_null(strstr(captured, line));
	snprintf(line, sizeof(line), ": %d lines were not written: File too large\n", (int)missing);
	assert_non_null(strstr(captured, line));
}

/* Whoever names tracks may be among what is missing: all are named anew. */
static void a_trace_goes_on_behind_a_gap(void **state)
{
	uint64_t missing, told = gap_of("trace", &missing), spans = 0, names = 0, marks = 0;
	size_t len;
	char *text = content(&len);
	cJSON *all = cJSON_Parse(text), *event;
	const char *name;

	(void)state;
	assert_true(cJSON_IsArray(all));
	cJSON_ArrayForEach(event, all)
	{
		name = cJSON_GetObjectItem(event, "name")->valuestring;
		spans += !strcmp(cJSON_GetObjectItem(event, "ph")->valuestring, "X");
		names += !strcmp(name, "thread_name");
		if (strncmp(name, "lines are missing here", 22) != 0)
			continue;
		marks++;
		assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(event, "args"), "count")
					 ->valuedouble,
				 missing);
	}
	cJSON_Delete(all);
	free(text);
	assert_int_equal(marks, 1);
	assert_int_equal(spans + missing, told);
	assert_int_equal(names, 2);
}

/* The end gives a disk that never answers half a second, and says what that cost. */
static void the_end_waits_no_longer(void **state)
{
	struct export_set *set = opened("json");
	uint64_t from_ns;

	(void)state;
	kill(writer(), SIGSTOP);
	for (uint64_t number = 1; number <= 3; number++)
		tell(set, number);
	export_set_save(set);
	from_ns = clock_mono_ns();
	export_set_save(set); /* not waited for again */
	assert_true(clock_mono_ns() - from_ns < S / 4);
	from_ns = clock_mono_ns();
	export_set_end(set, true);
	assert_int_equal(export_set_close(set), -ETIMEDOUT);
	assert_in_range(clock_mono_ns() - from_ns, S / 4, 2 * S);
	assert_non_null(strstr(captured, ": 3 lines were not written: its disk does not answer\n"));
	assert_ptr_equal(strchr(captured, '\n'), captured + strlen(captured) - 1);
	holds("");
}

/* What cannot be written by the end is told with its reason, not given up in the middle of a
 * try. */
static void full_to_the_end(void **state)
{
	struct rlimit full = {ROOM, RLIM_INFINITY}, had;
	struct buffer *b;
	struct line_writer *w;
	struct stat st;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &had);
	full.rlim_max = had.rlim_max;
	setrlimit(RLIMIT_FSIZE, &full);
	assert_int_equal(line_writer_open(&w, path, &(struct line_writer_config){0}), 0);
	b = line_writer_buffer(w);
	for (int i = 0; i < 200; i++) {
		buffer_printf(b, "%099d\n", i);
		line_writer_line(w);
	}
	assert_int_equal(line_writer_close(w), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &had);
	assert_non_null(strstr(captured, ": 100 lines were not written: File too large\n"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, ROOM);
}

/* ---- files that are bounded ------------------------------------------------------------------ */

#define BOUNDED_LINES 30000 /* of some 150 bytes */

static const char *name_of(unsigned n)
{
	static char name[80];

	snprintf(name, sizeof(name), n ? "%s.%u" : "%s", path, n);
	return name;
}

/* The numbers of the lines in FILE.n: first and last, all of them there. Bytes. */
static off_t numbers_of(unsigned n, uint64_t *ret_first, uint64_t *ret_last)
{
	FILE *f = fopen(name_of(n), "r");
	char line[8192], *at;
	uint64_t seq, last = 0;
	struct stat st;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		assert_int_equal(line[strlen(line) - 1], '\n');
		at = strstr(line, "\"seq\":");
		assert_non_null(at);
		seq = strtoull(at + 6, NULL, 10);
		if (last)
			assert_int_equal(seq, last + 1);
		else
			*ret_first = seq;
		last = seq;
	}
	*ret_last = last;
	assert_int_equal(fstat(fileno(f), &st), 0);
	fclose(f);
	return st.st_size;
}

static struct export_set *bounded(const char *settings, const struct export_options *opt)
{
	struct export_set *set;
	char spec[128];

	snprintf(spec, sizeof(spec), "json:%s%s", path, settings);
	assert_int_equal(export_set_new(&set, opt), 0);
	assert_int_equal(export_set_add(set, spec), 0);
	return set;
}

static void tell_many(struct export_set *set, uint64_t from, uint64_t until)
{
	for (uint64_t i = from; i < until; i++)
		tell(set, i);
}

/* FILE, FILE.1 and FILE.2 have the newest lines, each once; what went is counted and reported. */
static void a_bounded_file_keeps_the_newest_lines(void **state)
{
	struct export_set *set = bounded(",size=1M,keep=2", &(struct export_options){0});
	uint64_t first[3], last[3];
	static struct fixture fx;

	(void)state;
	fixture_init(&fx);
	tell_many(set, 1, BOUNDED_LINES + 1);
	export_set_save(set);
	export_set_view(set, &fx.s);
	assert_int_equal(export_set_close(set), 0);
	for (unsigned n = 0; n < 3; n++)
		assert_in_range(numbers_of(n, &first[n], &last[n]), n ? 500 << 10 : 1, 1 << 20);
	assert_int_equal(access(name_of(3), F_OK), -1);
	assert_int_equal(last[0], BOUNDED_LINES);
	assert_int_equal(first[0], last[1] + 1);
	assert_int_equal(first[1], last[2] + 1);
	assert_string_equal(fx.s.exports[0].dropped[2].cause, "size");
	assert_int_equal(fx.s.exports[0].dropped[2].count, first[2] - 1);
	assert_non_null(
		strstr(captured, "the file has reached its size limit; with 2 older files kept"));
	assert_non_null(strstr(captured, "removed with the oldest files"));
	unlink(name_of(1));
	unlink(name_of(2));
}

/* Killed just when a file had been given its number, before the next one has a line: none comes
 * twice. */
static void a_bounded_file_is_gone_on_with(void **state)
{
	const struct export_options resume = {.resume = true};
	struct export_set *set = bounded(",size=1M", &(struct export_options){0});
	uint64_t first, last;

	(void)state;
	tell_many(set, 1, 101);
	assert_int_equal(export_set_close(set), 0);
	assert_int_equal(rename(path, name_of(1)), 0);
	set = bounded(",size=1M", &resume);
	assert_int_equal(export_set_last_written(set), 100);
	tell_many(set, 50, 201);
	assert_int_equal(export_set_close(set), 0);
	numbers_of(0, &first, &last);
	assert_int_equal(first, 101);
	assert_int_equal(last, 200);
	unlink(name_of(1));
}

/* Of what a service writes the size is bounded unless somebody asks for none; nothing else is. */
static void sizes_that_are_asked_for(void **state)
{
	static const char *const wrong[] = {",size=",	   ",size=1",	     ",size=1X",
					    ",size=2000G", ",size=1M,keep=", ",keep=x",
					    ",keep=1001",  ",size=-1M"};
	struct export_set *set;
	char spec[128];

	(void)state;
	assert_int_equal(export_set_new(&set, &(struct export_options){.service = true}), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		captured[0] = '\0';
		snprintf(spec, sizeof(spec), "json:%s%s", path, wrong[i]);
		assert_int_equal(export_set_add(set, spec), -EINVAL);
		assert_non_null(strstr(captured, "expected a"));
	}
	export_set_close(set);
	assert_int_equal(
		export_set_close(bounded(",size=none", &(struct export_options){.service = true})),
		0);
	assert_int_equal(export_set_close(bounded(",keep=0,size=64M", &(struct export_options){0})),
			 0);
}

/* A writer bounded to 1 MiB and one older file, to `to`, which is given 3 MiB: what closing it
 * returns. */
static int bounded_to(const char *to, uint64_t *ret_waiting)
{
	const struct line_writer_config config = {
		.bound = {.bytes = FILE_WRITER_BOUND_LEAST, .keep = 1}};
	struct line_writer_stats stats;
	struct buffer *b;
	struct line_writer *w;

	assert_int_equal(line_writer_open(&w, to, &config), 0);
	b = line_writer_buffer(w);
	for (int i = 0; i < 3 << 10; i++) {
		buffer_printf(b, "%01023d\n", i);
		line_writer_line(w);
	}
	line_writer_save(w, 5 * S);
	line_writer_stats(w, &stats);
	*ret_waiting = stats.waiting;
	return line_writer_close(w);
}

static off_t size_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(name, &st), 0);
	return S_ISREG(st.st_mode) ? st.st_size : -1;
}

/* The target of a symbolic link is bounded, not the link. */
static void a_link_is_bounded(void **state)
{
	char folder[] = "/tmp/gp-bpf-file_writer-XXXXXX", link[80];
	uint64_t waiting;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(bounded_to(link, &waiting), 0);
	assert_int_equal(waiting, 0);
	assert_in_range(size_of(path), 1, FILE_WRITER_BOUND_LEAST);
	assert_in_range(size_of(name_of(1)), 1, FILE_WRITER_BOUND_LEAST);
	assert_int_equal(size_of(link), -1);
	assert_int_equal(unlink(name_of(1)), 0);
	unlink(link);
	assert_int_equal(rmdir(folder), 0);
}

/* What cannot be renamed does not grow either: lines are kept, and counted at the end. */
static void a_file_that_cannot_be_renamed(void **state)
{
	uint64_t waiting;

	(void)state;
	assert_int_equal(mkdir(name_of(1), 0700), 0);
	assert_int_equal(bounded_to(path, &waiting), -EXDEV);
	assert_int_equal(rmdir(name_of(1)), 0);
	assert_in_range(size_of(path), 1, FILE_WRITER_BOUND_LEAST);
	assert_int_equal(size_of(path) + (off_t)(waiting << 10), 3 << 20);
	assert_non_null(
		strstr(captured, "the file has reached its size limit, but cannot be renamed"));
	assert_non_null(
		strstr(captured, "lines were not written: the file has reached its size limit"));
}

/* A rotation that fails is repeated: older files are not moved again, and none is removed. */
static void a_rotation_that_fails_moves_nothing(void **state)
{
	const struct file_writer_bound bound = {.bytes = FILE_WRITER_BOUND_LEAST, .keep = 2};
	static char text[FILE_WRITER_TEXT_MAX];
	struct file_writer *w;
	FILE *f;

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	f = fopen(name_of(1), "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(mkdir(name_of(2), 0700), 0);
	assert_int_equal(file_writer_open(&w, path, false, &bound), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(file_writer_give(w, text, sizeof(text)), sizeof(text));
		assert_int_equal(answer(w).err, i < 2 ? 0 : -EXDEV);
	}
	assert_int_equal(size_of(name_of(1)), 0);
	assert_int_equal(rmdir(name_of(2)), 0);
	file_writer_give(w, text, sizeof(text));
	assert_int_equal(answer(w).err, 0);
	assert_int_equal(file_writer_close(w, 5000), 0);
	assert_int_equal(size_of(name_of(2)), 0);
	assert_int_equal(size_of(name_of(1)), FILE_WRITER_BOUND_LEAST);
	unlink(name_of(1));
	unlink(name_of(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_given_is_there, begin, end),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_the_callers, begin, end),
		cmocka_unit_test_setup_teardown(a_part_is_cut_off, begin, end),
		cmocka_unit_test_setup_teardown(much_at_once, begin, end),
		cmocka_unit_test_setup_teardown(killed_it_goes_on, begin, end),
		cmocka_unit_test_setup_teardown(never_answered, begin, end),
		cmocka_unit_test_setup_teardown(lines_go_on_behind_a_gap, begin, end),
		cmocka_unit_test_setup_teardown(a_trace_goes_on_behind_a_gap, begin, end),
		cmocka_unit_test_setup_teardown(the_end_waits_no_longer, begin, end),
		cmocka_unit_test_setup_teardown(full_to_the_end, begin, end),
		cmocka_unit_test_setup_teardown(a_bounded_file_keeps_the_newest_lines, begin, end),
		cmocka_unit_test_setup_teardown(a_bounded_file_is_gone_on_with, begin, end),
		cmocka_unit_test_setup_teardown(sizes_that_are_asked_for, begin, end),
		cmocka_unit_test_setup_teardown(a_link_is_bounded, begin, end),
		cmocka_unit_test_setup_teardown(a_file_that_cannot_be_renamed, begin, end),
		cmocka_unit_test_setup_teardown(a_rotation_that_fails_moves_nothing, begin, end),
	};

	return cmocka_run_group_tests_name("file_writer", tests, NULL, NULL);
}

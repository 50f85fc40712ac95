/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "userspace/base/log.h"
#include "userspace/ingest/goodput_order.h"
#include "userspace/ingest/goodput_source.h"

static char folder[64], path[2][96], said[512];
static int lines;
static struct goodput_source *source;
static struct goodput_faults faults;
static char told[1 << 20];

static void keep_line(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	lines++;
	snprintf(said, sizeof(said), "%s", line);
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/gp-goodput-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/log%d", folder, i);
	lines = 0;
	log_sink(keep_line, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	goodput_source_close(source);
	source = NULL;
	log_sink(NULL, NULL);
	for (int i = 0; i < 2; i++)
		unlink(path[i]);
	return rmdir(folder);
}

static void file_write(const char *name, const void *data, size_t len, int flags)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	assert_int_equal(close(fd), 0);
}

static void file_text(const char *name, const char *text)
{
	file_write(name, text, strlen(text), O_TRUNC);
}

static void file_add(const char *name, const char *text)
{
	file_write(name, text, strlen(text), O_APPEND);
}

/* "NUMBER@SECONDS " of each record, '+' before those whose time is the log's. */
static const char *drain(void)
{
	struct goodput_record r;
	size_t len = 0;
	int rc;

	*told = '\0';
	while ((rc = goodput_source_next(source, &r)) > 0)
		len += (size_t)snprintf(told + len, sizeof(told) - len, "%s%lld@%g ",
					r.written ? "+" : "",
					(long long)(r.kind == GOODPUT_STEP ? r.number : -r.kind),
					(double)r.write_us / 1e6);
	assert_int_equal(rc, 0);
	goodput_source_faults(source, &faults);
	return told;
}

static const char *all(char *first, char *second)
{
	static char *paths[2];

	paths[0] = first;
	paths[1] = second;
	goodput_source_close(source);
	source = NULL;
	assert_int_equal(goodput_source_open(&source, paths, second ? 2 : 1, false), 0);
	drain();
	assert_int_equal(goodput_source_next(source, &(struct goodput_record){0}), 0);
	return told;
}

#define STEP(n, s) "{\"job_name\":\"j\",\"step_count\":" #n ",\"step_start_time\":" #s "}"
#define CLOUD(n, s)                                                                                \
	"{\"insertId\":\"i" #n "\",\"timestamp\":\"1970-01-01T00:00:" #s                           \
	"Z\",\"jsonPayload\":" STEP(n, s) "}"

static void counts(void **state)
{
	(void)state;
	file_text(path[0], STEP(1, 10) "\nnonsense \x1b[2J\n{\"message\":1}\n" STEP(x, 1) "\n" STEP(
				   2, 20) "\n{\"job_end_time\":null}\n" STEP(3, 30));
	assert_string_equal(all(path[0], NULL), "1@10 2@20 3@30 ");
	assert_int_equal(faults.entries, 7);
	assert_int_equal(faults.bad, 3);
	assert_int_equal(faults.foreign, 1);
	assert_int_equal(faults.duplicates + faults.late, 0);
	assert_false(faults.cut);
	assert_true(strstr(faults.first, "/log0:2: not a JSON object"));
	assert_true(goodput_source_progress(source) == 1);
}

static void first_fault(void **state)
{
	char name[2 * sizeof(folder)], expected[256];

	(void)state;
	snprintf(name, sizeof(name), "%s/\x1b[2J", folder);
	file_text(name, "\n\n\n" STEP("1", 2) "\n");
	assert_string_equal(all(name, NULL), "");
	snprintf(expected, sizeof(expected), "%s/?[2J:4: step_count is not a number", folder);
	assert_string_equal(faults.first, expected);
	unlink(name);
}

static void several_files(void **state)
{
	(void)state;
	file_text(path[0], STEP(1, 10) "\n[" STEP(2, 20) "\n" STEP(9, 9));
	file_text(path[1], STEP(3, 30) "\n{\"job");
	assert_string_equal(all(path[0], path[1]), "1@10 2@20 9@9 3@30 ");
	assert_true(faults.cut);
	assert_int_equal(faults.bad, 0);
	file_text(path[0], STEP(1, 10) "\n{\"job_na");
	assert_string_equal(all(path[0], path[1]), "1@10 3@30 ");
	assert_true(faults.cut);
}

static void ordered(void **state)
{
	(void)state;
	file_text(path[0], "[" CLOUD(3, 30) "," CLOUD(2, 20) "," CLOUD(2, 20) "," CLOUD(1, 10) "]");
	assert_string_equal(all(path[0], NULL), "+1@10 +2@20 +3@30 ");
	assert_int_equal(faults.duplicates, 1);
	assert_int_equal(faults.entries, 4);
	/* Two exports that overlap. */
	file_text(path[1], CLOUD(2, 20) "\n" CLOUD(3, 30) "\n" CLOUD(4, 40) "\n");
	assert_string_equal(all(path[0], path[1]), "+1@10 +2@20 +3@30 +4@40 ");
	assert_int_equal(faults.duplicates, 3);
	/* Those that say nothing of their time stay behind those that were before them. */
	file_text(path[0], STEP(7, 70) "\n" CLOUD(2, 20) "\n" STEP(6, 60) "\n" CLOUD(
				   1, 10) "\n" STEP(5, 50));
	assert_string_equal(all(path[0], NULL), "7@70 +1@10 +2@20 6@60 5@50 ");
}

/* A whole export, both ways round. */
static void either_direction(void **state)
{
	enum { N = 70000 };
	char *texts[2] = {NULL, NULL};
	FILE *f;

	(void)state;
	for (int way = 0; way < 2; way++) {
		f = fopen(path[way], "w");
		assert_non_null(f);
		for (int i = 0, n; i < N; i++) {
			n = way ? N - 1 - i : i;
			fprintf(f,
				"{\"timestamp\":\"1970-01-02T%02d:%02d:%02d.5Z\",\"insertId\":\"%d\","
				"\"jsonPayload\":{\"job_start_time\":%d}}\n",
				n / 3600, n / 60 % 60, n % 60, n, n);
		}
		fclose(f);
		texts[way] = strdup(all(path[way], NULL));
		assert_int_equal(faults.entries, N);
		assert_int_equal(faults.bad + faults.late + faults.duplicates, 0);
	}
	assert_true(strlen(texts[0]) > 10 * N);
	assert_string_equal(texts[0], texts[1]);
	free(texts[0]);
	free(texts[1]);
}

static size_t gzip(const void *text, size_t len, unsigned char *out, size_t cap)
{
	z_stream z = {.next_in = (void *)(uintptr_t)text,
		      .avail_in = (uInt)len,
		      .next_out = out,
		      .avail_out = (uInt)cap};

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return cap - z.avail_out;
}

static void packed(void **state)
{
	static const char text[] = STEP(1, 10) "\n" STEP(2, 20) "\n", more[] = STEP(3, 30) "\n";
	unsigned char bytes[1024];
	size_t len = gzip(text, sizeof(text) - 1, bytes, sizeof(bytes)), one = len;

	(void)state;
	file_write(path[0], bytes, len, O_TRUNC);
	assert_string_equal(all(path[0], NULL), "1@10 2@20 ");
	assert_false(faults.cut);
	/* Another member, and padding. */
	len += gzip(more, sizeof(more) - 1, bytes + len, sizeof(bytes) - len);
	memset(bytes + len, 0, 100);
	file_write(path[0], bytes, len + 100, O_TRUNC);
	assert_string_equal(all(path[0], NULL), "1@10 2@20 3@30 ");
	assert_false(faults.cut || faults.bad);
	/* What is no gzip behind it. */
	memcpy(bytes + len, more, sizeof(more));
	file_write(path[0], bytes, len + sizeof(more), O_TRUNC);
	assert_string_equal(all(path[0], NULL), "1@10 2@20 3@30 ");
	assert_int_equal(faults.bad, 1);
	assert_true(strstr(faults.first, "/log0: gzip data is damaged or cut off"));
	/* Each byte damaged: never more than was there, and never silently less. */
	for (size_t i = 0; i < one; i++) {
		bytes[i] ^= 0x5a;
		file_write(path[0], bytes, one, O_TRUNC);
		all(path[0], NULL);
		assert_true(!strncmp(told, "1@10 2@20 ", strlen(told)) || faults.bad);
		assert_true(strlen(told) == 10 || faults.bad || faults.cut);
		bytes[i] ^= 0x5a;
	}
}

static void packed_and_cut(void **state)
{
	static const char text[] = STEP(1, 10) "\n" STEP(2, 20) "\n" STEP(3, 30) "\n";
	unsigned char bytes[1024];
	size_t len = gzip(text, sizeof(text) - 1, bytes, sizeof(bytes));

	(void)state;
	for (size_t cut = 1; cut < len; cut++) {
		file_write(path[0], bytes, cut, O_TRUNC);
		all(path[0], NULL);
		assert_true(faults.cut);
		assert_int_equal(faults.bad, 0);
		assert_int_equal(strncmp(told, "1@10 2@20 3@30 ", strlen(told)), 0);
	}
}

static void nothing_there(void **state)
{
	char *paths[] = {path[0], path[1]};

	(void)state;
	assert_int_equal(goodput_source_open(&source, paths, 1, false), -ENOENT);
	assert_true(strstr(said, "log0: No such file"));
	file_text(path[0], STEP(1, 10));
	assert_int_equal(goodput_source_open(&source, paths, 2, false), -ENOENT);
	assert_true(strstr(said, "log1: No such file"));
	paths[1] = folder;
	assert_int_equal(goodput_source_open(&source, paths, 2, false), -EISDIR);
	assert_int_equal(lines, 3);
	file_text(path[0], "");
	assert_string_equal(all(path[0], NULL), "");
	assert_false(faults.cut);
	assert_int_equal(faults.entries, 0);
}

static void follow(void)
{
	static char *paths[] = {path[0]};

	assert_int_equal(goodput_source_open(&source, paths, 1, true), 0);
}

static void followed(void **state)
{
	(void)state;
	file_text(path[0], "");
	follow();
	assert_string_equal(drain(), "");
	file_add(path[0], STEP(1, 10) "\n{\"job_name\":\"j\",");
	assert_string_equal(drain(), "1@10 ");
	assert_string_equal(drain(), "");
	file_add(path[0], "\"step_count\":2,\"step_start_time\":20}\n" CLOUD(4, 40) CLOUD(3, 30));
	assert_string_equal(drain(), "2@20 +3@30 +4@40 ");
	file_add(path[0], CLOUD(1, 10));
	assert_string_equal(drain(), "+1@10 ");
	assert_int_equal(faults.late, 1);
	assert_int_equal(faults.bad, 0);
	assert_false(faults.cut || goodput_source_over(source));
	assert_int_equal(lines, 0);
}

static void followed_cut_short(void **state)
{
	(void)state;
	file_text(path[0], STEP(1, 10) "\n" STEP(2, 20) "\n{\"job");
	follow();
	assert_string_equal(drain(), "1@10 2@20 ");
	file_text(path[0], STEP(3, 30) "\n");
	assert_string_equal(drain(), "3@30 ");
	assert_int_equal(lines, 1);
	assert_true(strstr(said, "log0 was truncated or replaced: reading it from the beginning"));
	assert_true(faults.cut);
	file_add(path[0], "x\n");
	drain();
	assert_true(strstr(faults.first, "log0:2: "));
}

static void followed_replaced(void **state)
{
	(void)state;
	file_text(path[0], STEP(1, 10) "\n");
	follow();
	assert_string_equal(drain(), "1@10 ");
	file_text(path[1], STEP(2, 20) "\n" STEP(3, 30) "\n" STEP(4, 40) "\n");
	file_add(path[0], STEP(9, 90)); /* the last of the old one is not lost */
	assert_int_equal(rename(path[1], path[0]), 0);
	assert_string_equal(drain(), "9@90 ");
	assert_string_equal(drain(), "2@20 3@30 4@40 ");
	unlink(path[0]);
	assert_string_equal(drain(), "");
	file_text(path[0], STEP(5, 50) "\n");
	assert_string_equal(drain(), "");
	assert_string_equal(drain(), "5@50 ");
	assert_int_equal(lines, 2);
}

static void followed_packed(void **state)
{
	static const char text[] = STEP(1, 10) "\n" STEP(2, 20) "\n";
	unsigned char bytes[1024];
	size_t len = gzip(text, sizeof(text) - 1, bytes, sizeof(bytes));

	(void)state;
	file_write(path[0], bytes, 20, O_TRUNC);
	follow();
	drain();
	file_write(path[0], bytes + 20, len - 20, O_APPEND);
	drain();
	file_write(path[0], "no gzip", 7, O_APPEND);
	assert_string_equal(drain(), "");
	assert_string_equal(drain(), "");
	assert_int_equal(faults.bad, 1);
	file_text(path[0], STEP(3, 30));
	assert_string_equal(drain(), "3@30 ");
}

/* Standard input, a pipe: as it comes, and over when nobody writes any more. */
static void standard_input(void **state)
{
	static char dash[] = "-";
	char *paths[] = {dash};
	int ends[2], kept = dup(STDIN_FILENO);

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
	assert_int_equal(goodput_source_open(&source, paths, 1, true), 0);
	assert_true(goodput_source_progress(source) < 0);
	assert_string_equal(drain(), "");
	assert_int_equal(write(ends[1], STEP(1, 10), strlen(STEP(1, 10))), strlen(STEP(1, 10)));
	assert_string_equal(drain(), "1@10 ");
	assert_false(goodput_source_over(source));
	close(ends[1]);
	assert_string_equal(drain(), "");
	assert_true(goodput_source_over(source));
	close(ends[0]);
	assert_true(dup2(kept, STDIN_FILENO) >= 0);
	close(kept);
}

static void fifo(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(mkfifo(path[0], 0600), 0);
	follow();
	assert_string_equal(drain(), "");
	fd = open(path[0], O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, STEP(1, 10), strlen(STEP(1, 10))), strlen(STEP(1, 10)));
	assert_string_equal(drain(), "1@10 ");
	close(fd);
	assert_string_equal(drain(), "");
	assert_false(goodput_source_over(source));
}

/* More than is held back, so that the order of the files counts. */
static void export_write(const char *name, int from, int count)
{
	char *text = malloc((size_t)count * 128), *at = text;

	assert_non_null(text);
	for (int i = from; i < from + count; i++)
		at += sprintf(
			at,
			"{\"timestamp\":\"1970-01-02T%02d:%02d:%02dZ\",\"jsonPayload\":{\"job_name\":\"j\","
			"\"step_count\":%d,\"step_start_time\":%d}}\n",
			i / 3600, i / 60 % 60, i % 60, i, 86400 + i);
	file_write(name, text, (size_t)(at - text), O_TRUNC);
	free(text);
}

static void files_in_order(void **state)
{
	char *paths[] = {path[0], path[1]};
	struct goodput_record r;
	int64_t number = 0;

	(void)state;
	export_write(path[0], 10, GOODPUT_ORDER_KEPT + 10);
	export_write(path[1], 0, 10);
	assert_int_equal(goodput_source_open(&source, paths, 2, false), 0);
	for (; goodput_source_next(source, &r) > 0; number++)
		assert_int_equal(r.number, number);
	assert_int_equal(number, GOODPUT_ORDER_KEPT + 20);
	goodput_source_faults(source, &faults);
	assert_int_equal(faults.late, 0);
}

/* What never ends and tells nothing does not keep the caller from looking at its signals. */
static void nothing_for_ever(void **state)
{
	static char zero[] = "/dev/zero";
	static char *paths[] = {zero};

	(void)state;
	assert_int_equal(goodput_source_open(&source, paths, 1, true), 0);
	assert_int_equal(goodput_source_next(source, &(struct goodput_record){0}), -EAGAIN);
	assert_false(goodput_source_over(source));
}

int main(void)
{
#define source_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		source_test(counts),
		source_test(first_fault),
		source_test(several_files),
		source_test(ordered),
		source_test(either_direction),
		source_test(packed),
		source_test(packed_and_cut),
		source_test(nothing_there),
		source_test(followed),
		source_test(followed_cut_short),
		source_test(followed_replaced),
		source_test(followed_packed),
		source_test(standard_input),
		source_test(fifo),
		source_test(files_in_order),
		source_test(nothing_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

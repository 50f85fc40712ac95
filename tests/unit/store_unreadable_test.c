/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and step times that are damaged inside a file that is whole: told, counted, and nothing else
 * is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/store_feed.h"
#include "userspace/base/log.h"
#include "userspace/store/store_private.h"
#include "userspace/report/document.h"

static char dir[64], path[96];
static unsigned said;

static void listen_to(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	if (level <= LOG_WARN && strstr(line, "of a row are damaged"))
		said++;
}

static int set_up(void **state)
{
	(void)state;
	log_setup(LOG_WARN, LOG_TEXT);
	log_sink(listen_to, NULL);
	said = 0;
	snprintf(path, sizeof(path), "%s/store.db", feed_folder(dir));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	feed_remove(dir);
	return 0;
}

static void damage(const char *sql)
{
	struct store *st;

	assert_int_equal(store_open(&st, path, STORE_WRITE), 0);
	assert_int_equal(store_exec(st, sql), 0);
	store_close(st);
}

static void feed_some(struct feed *f, int seconds)
{
	struct store_writer_options o = {.path = path};

	assert_int_equal(store_writer_open(&f->writer, &o), 0);
	f->facts = 0;
	f->wait = true;
	feed_open(f, f->writer);
	for (int i = 0; i < seconds; i++)
		feed_go(f, S);
	assert_int_equal(store_writer_close(f->writer), 0);
}

static void test_read(void **state)
{
	static struct store_job job;
	struct report_document *s = NULL;
	struct buffer out = {0};
	static struct feed f;
	struct store *st;

	(void)state;
	feed_init(&f, "hurt", 1, 1000 * S);
	feed_some(&f, 300);
	damage("UPDATE minutes SET ledger = x'8080', sketch = x'ffffffffffffffffffffffff' WHERE minute ="
	       " (SELECT min(minute) + 1 FROM minutes)");
	assert_int_equal(store_open(&st, path, STORE_READ), 0);
	assert_int_equal(store_job(st, "hurt", &job), 0);
	assert_true(feed_same(&job.totals.sums, &f.job.ledger));
	assert_int_equal(store_unreadable(st), 0);
	assert_int_equal(document_of_store(&s, st, &job, &everything, NULL), 0);
	assert_true(store_unreadable(st) > 0);
	assert_int_equal(said, 1);
	document_text(&out, s, 0, false);
	assert_non_null(strstr(out.data, "could not be read"));
	buffer_free(&out);
	document_close(s);
	store_close(st);
}

/* Who goes on with such a rank takes its sums from its minutes. */
static void test_go_on(void **state)
{
	static struct store_job job;
	static struct feed_found found;
	static struct feed f;
	struct store *st;

	(void)state;
	feed_init(&f, "hurt", 1, 1000 * S);
	feed_some(&f, 300);
	damage("UPDATE ranks SET ledger = x'00', sketch = x'05'");
	feed_some(&f, 100);
	assert_true(said > 0);
	assert_int_equal(store_open(&st, path, STORE_READ), 0);
	assert_int_equal(feed_find(st, "hurt", &job, &found), 0);
	assert_true(feed_same(&job.totals.sums, &f.job.ledger));
	assert_true(feed_same(&found.rank[0].totals.sums, &f.ranks[0].ledger));
	assert_int_equal(store_unreadable(st), 0); /* it was written anew */
	store_close(st);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {TEST(test_read), TEST(test_go_on)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

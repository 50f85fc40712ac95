/* SPDX-License-Identifier: Apache-2.0 */
/* What a store knows of checkpoints: as they were told, and of a file that an older version
 * made. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>

#include "tests/unit/store_folder.h"
#include "tests/unit/store_version3.h"
#include "userspace/store/schema.h"
#include "userspace/report/html.h"
#include "userspace/report/document.h"

struct taken {
	struct store_checkpoint at[4];
	uint32_t count;
};

static int take(void *ctx, const struct store_checkpoint *c)
{
	struct taken *t = ctx;

	assert_true(t->count < 4);
	t->at[t->count++] = *c;
	return 0;
}

static struct taken taken_of(const char *name, struct store **ret_store, struct store_job *ret_job)
{
	struct taken t = {.count = 0};

	assert_int_equal(store_open(ret_store, path, STORE_READ), 0);
	assert_int_equal(store_job(*ret_store, name, ret_job), 0);
	assert_int_equal(store_checkpoints(*ret_store, ret_job->id, &everything, take, &t), 0);
	return t;
}

static void tell(struct feed *f, struct fact_checkpoint *c)
{
	struct fact fact = {.type = FACT_CHECKPOINT, .checkpoint = c};

	c->start_ns = f->s.mono_ns - 50 * MS;
	c->end_ns = f->s.mono_ns - 20 * MS;
	feed_fact(f, &fact, 0, f->s.mono_ns);
	feed_go(f, S);
}

/* A restore that is matched, one that is an estimate, and a save: all that a JSON line says of
 * them. */
static void test_told(void **state)
{
	struct checkpoint_match match = {
		.how = CHECKPOINT_BY_path, .confidence = 0.95, .step = 600};
	struct checkpoint_match guess = {
		.how = CHECKPOINT_BY_newest, .confidence = 0.5, .step = 700};
	struct fact_checkpoint restore = {
		.restore = true, .closed = true, .files = 1, .match = &match};
	struct fact_checkpoint again = restore, save = {.closed = true,
							.async = true,
							.step = 650,
							.estimated = true,
							.run_step = 50,
							.bytes = 5000000000,
							.files = 2,
							.file = "/ckpt/650.pt"};
	struct store_writer_options o = {.path = path};
	static struct store_job job;
	static struct feed f;
	struct store *st;
	struct taken t;

	(void)state;
	restore.file = again.file = "/ckpt/600.pt";
	again.match = &guess;
	feed_init(&f, "saved", 1, 1000 * S);
	assert_int_equal(store_writer_open(&f.writer, &o), 0);
	feed_open(&f, f.writer);
	feed_go(&f, S);
	tell(&f, &restore);
	tell(&f, &again);
	match = guess = (struct checkpoint_match){0}; /* they are the teller's */
	tell(&f, &save);
	assert_int_equal(store_writer_close(f.writer), 0);
	t = taken_of("saved", &st, &job);
	assert_int_equal(t.count, 3);
	assert_int_equal(t.at[0].saved_step, 600);
	assert_string_equal(t.at[0].known_by, "path");
	assert_true(t.at[0].confidence == 0.95);
	assert_false(t.at[0].estimated);
	assert_int_equal(t.at[1].saved_step, 700);
	assert_true(t.at[1].estimated);
	assert_int_equal(t.at[2].step, 650);
	assert_int_equal(t.at[2].run_step, 50);
	assert_int_equal(t.at[2].bytes, 5000000000);
	assert_true(t.at[2].async);
	assert_true(t.at[2].estimated);
	assert_int_equal(t.at[2].saved_step, STORE_NONE);
	assert_true(isnan(t.at[2].confidence));
	assert_string_equal(t.at[2].known_by, "");
	store_close(st);
}

static void has(const struct buffer *b, const char *word)
{
	if (!strstr(b->data, word))
		fail_msg("no '%s' in:\n%s", word, b->data);
}

static void test_reported(void **state)
{
	struct buffer text = {0}, json = {0}, page = {0};
	static struct store_job job;
	struct report_document *s = NULL;
	struct store *st;

	test_told(state);
	(void)taken_of("saved", &st, &job);
	assert_int_equal(document_of_store(&s, st, &job, &everything, NULL), 0);
	assert_int_equal(s->restores_guessed, 1);
	document_text(&text, s, 0, false);
	has(&text, "600.pt read, written after step 600 (path, confidence 0.95)");
	has(&text, "600.pt read, written after about step 700 (newest, confidence 0.50)");
	has(&text, "650.pt saved beside training, step estimated");
	has(&text, "5.0 GB");
	has(&text, "Estimated or unknown: the step of the checkpoint that was read");
	document_json(&json, s);
	has(&json, "\"saved_step\":600,\"match\":\"path\",\"confidence\":0.95,\"estimated\":false");
	has(&json, "\"step\":650,\"run_step\":50,\"bytes\":5000000000");
	has(&json, "\"file\":\"/ckpt/650.pt\",\"estimated\":true");
	html_report(&page, s);
	has(&page, "<td class=\"n\">600</td>"); /* of a restore the step that it read, not the last
						   one done */
	has(&page, "<td class=\"n\">~700</td>");
	has(&page, "<td class=\"n\">~650</td>");
	buffer_free(&text);
	buffer_free(&json);
	buffer_free(&page);
	document_close(s);
	store_close(st);
}

/* What version 3 did not keep is not known, and nothing else changes. */
static void test_version3(void **state)
{
	static struct store_job job;
	struct store *st;
	struct taken t;
	sqlite3 *sql;
	char *why = NULL;

	(void)state;
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, version3, NULL, NULL, &why), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			sql,
			"PRAGMA application_id = 1735410256; PRAGMA user_version = 3;"
			"INSERT INTO jobs VALUES (1, 'name/old', 'old', NULL, 'ended', 5);"
			"INSERT INTO runs (id, job, attempt, boot_id, start_ns, start_mono_ns)"
			" VALUES (1, 1, 1, 'boot', 5, 5);"
			"INSERT INTO ranks VALUES (1, 0, 1, 1, 1, x'', 9, 5, 5, NULL, NULL, 'c',"
			" 'c', 'A', 'm', x'', 321, x'', 70, NULL, NULL, NULL, 321, NULL);"
			"INSERT INTO checkpoints VALUES (1, 1, 'restore', 0, 1, 10, 20, 10, 7, 99, 1, 'a.pt');",
			NULL, NULL, &why),
		SQLITE_OK);
	sqlite3_close(sql);
	t = taken_of("old", &st, &job);
	assert_int_equal(job.totals.steps, 321);
	assert_int_equal(t.count, 1);
	assert_true(t.at[0].restore);
	assert_int_equal(t.at[0].step, 7);
	assert_int_equal(t.at[0].bytes, 99);
	assert_int_equal(t.at[0].run_step, STORE_NONE);
	assert_int_equal(t.at[0].saved_step, STORE_NONE);
	assert_true(isnan(t.at[0].confidence));
	assert_false(t.at[0].estimated);
	store_close(st);
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, "SELECT source, imported_ns FROM jobs WHERE source = ''",
				      NULL, NULL, &why),
			 SQLITE_OK);
	sqlite3_close(sql);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, store_tear_down)
	const struct CMUnitTest tests[] = {TEST(test_told), TEST(test_reported),
					   TEST(test_version3)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

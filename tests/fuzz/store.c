/* SPDX-License-Identifier: Apache-2.0 */
/* What a store holds as bytes: sums and step times by themselves, and in the rows of a job that is
 * reported. */
#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/base/buffer.h"
#include "userspace/store/store_private.h"
#include "userspace/store/varint.h"
#include "userspace/report/html.h"
#include "userspace/report/document.h"

static struct store *store;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	REQUIRE(!store_open(&store, ":memory:", STORE_WRITE));
	REQUIRE(!store_exec(
		store,
		"INSERT INTO jobs (id, key, name, state, first_ns)"
		" VALUES (1, 'k', 'job', 'ended', 60000000000);"
		"INSERT INTO runs (id, job, attempt, boot_id, start_ns, start_mono_ns)"
		" VALUES (1, 1, 1, 'b', 60000000000, 1);"
		"INSERT INTO ranks (id, kind, job, run, session, base, pid, start_mono_ns, start_ns,"
		" comm, command, tier, marker, ledger, steps, sketch, until_ns) VALUES"
		" (1, 0, 1, 1, 1, x'', 9, 1, 60000000000, '', '', 'A', '', x'', 7, x'', 180000000000),"
		" (2, 1, 1, 0, 1, x'', 0, 1, 60000000000, '', '', '', '', x'', 7, x'', 180000000000);"
		"INSERT INTO minutes (rank, minute, until_ns, ledger, steps, sketch) VALUES"
		" (1, 1, 120000000000, x'', 7, x''), (2, 1, 120000000000, x'', 0, x'');"
		"INSERT INTO minute_now (rank, minute, until_ns, ledger, steps, sketch, max_step)"
		" VALUES (1, 2, 180000000000, x'', 7, x'', 7);"
		"INSERT INTO disruptions (job, at_ns, at_mono_ns, cause, sender_comm, graceful, estimated,"
		" how, split) VALUES (1, 90000000000, 5, '', '', 0, 0, '', x'');"));
	return 0;
}

static void sketches(struct input *in)
{
	struct input first = input_piece(in);
	struct sketch a, b, back;
	struct buffer out = {0};

	if (sketch_read(&a, first.at, input_left(&first))) {
		REQUIRE(sketch_read(&a, first.at, input_left(&first)) == -EBADMSG);
		return;
	}
	sketch_write(&a, &out);
	REQUIRE(!sketch_read(&back, out.data, out.len));
	REQUIRE(!memcmp(&a, &back, sizeof(a)));
	buffer_free(&out);
	if (sketch_read(&b, in->at, input_left(in)))
		b = a;
	sketch_merge(&a, &b);
	for (int i = 0; i <= 100; i += 10) {
		uint64_t ns = sketch_quantile(&a, i / 100.0);

		REQUIRE(a.count ? ns >= a.min_ns && ns <= a.max_ns : !ns);
	}
	(void)report_ideal_ns(&a);
}

static void sums(const struct input *in)
{
	struct sum_names names;
	struct sums s, back;
	struct buffer out = {0};
	int err;

	sum_names_init(&names);
	for (uint32_t i = 0; i < names.count; i++)
		names.id[i] = i + 1;
	err = sums_read(&s, &names, in->at, input_left(in));
	REQUIRE(!err || err == -EBADMSG || err == -ENOENT);
	if (err)
		return;
	sums_write(&s, &names, &out);
	REQUIRE(!sums_read(&back, &names, out.data, out.len));
	REQUIRE(!memcmp(&s, &back, sizeof(s)));
	buffer_free(&out);
}

static void varints(const struct input *in)
{
	struct varint_reader r = {in->at, in->end, false};
	struct buffer out = {0};
	uint64_t v;

	while (r.at != r.end && !r.failed) {
		v = varint_read(&r);
		REQUIRE(zigzag(unzigzag(v)) == v);
		if (!r.failed)
			varint_write(&out, v);
	}
	REQUIRE(out.len <= input_left(in));
	buffer_free(&out);
}

static void put(const char *sql, struct input *in)
{
	struct input ledger = input_piece(in), sketch = input_piece(in);
	sqlite3_stmt *stmt;

	REQUIRE(sqlite3_prepare_v2(store->sql, sql, -1, &stmt, NULL) == SQLITE_OK);
	sqlite3_bind_blob(stmt, 1, input_left(&ledger) ? ledger.at : (const void *)"",
			  (int)input_left(&ledger), SQLITE_TRANSIENT);
	if (sqlite3_bind_parameter_count(stmt) > 1)
		sqlite3_bind_blob(stmt, 2, input_left(&sketch) ? sketch.at : (const void *)"",
				  (int)input_left(&sketch), SQLITE_TRANSIENT);
	REQUIRE(sqlite3_step(stmt) == SQLITE_DONE);
	sqlite3_finalize(stmt);
}

static void rows(struct input *in)
{
	static const struct store_span everything, some = {90000000000, 150000000000};
	static struct store_job job;
	struct buffer out = {0};
	struct report_document *s = NULL;
	uint64_t sum = 0;

	put("UPDATE ranks SET ledger = ?, sketch = ? WHERE id = 1", in);
	put("UPDATE ranks SET ledger = ?, sketch = ? WHERE id = 2", in);
	put("UPDATE minutes SET ledger = ?, sketch = ?", in);
	put("UPDATE minute_now SET ledger = ?, sketch = ?", in);
	put("UPDATE disruptions SET split = ?", in);
	store->unreadable = 0;
	for (int i = 0; i < 2; i++) {
		REQUIRE(!store_job(store, "job", &job));
		REQUIRE(!document_of_store(&s, store, &job, i ? &some : &everything, NULL));
		for (int b = 0; b < BUCKET_COUNT; b++)
			sum += s->ledger.ns[b];
		REQUIRE(sum == s->ledger.now_ns - s->ledger.start_ns);
		sum = 0;
		document_text(&out, s, 0, false);
		document_json(&out, s);
		html_report(&out, s);
		REQUIRE(!out.failed);
		buffer_clear(&out);
		document_close(s);
	}
	buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len};

	switch (input_byte(&in) % 4) {
	case 0:
		sketches(&in);
		break;
	case 1:
		sums(&in);
		break;
	case 2:
		varints(&in);
		break;
	default:
		rows(&in);
	}
	return 0;
}

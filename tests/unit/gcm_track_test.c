/* SPDX-License-Identifier: Apache-2.0 */
/* Where series began and ended is known after a restart, whatever became of the file. */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit/gcm_fake.h"

#define NOW_NS FAKE_EPOCH_NS

static char dir[64];
static int folder;

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/gcm_track_test_XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	folder = open(dir, O_RDONLY | O_DIRECTORY);
	return folder < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	char command[96];

	(void)state;
	close(folder);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct track_record record(uint64_t key)
{
	return (struct track_record){.key = key,
				     .set_start_ns = NOW_NS - 5000 * NS_PER_S,
				     .start_ns = NOW_NS - 4000 * NS_PER_S,
				     .end_ns = NOW_NS - (int64_t)key * NS_PER_S,
				     .value = 7};
}

static void save(struct track_record r)
{
	struct tracks *t = tracks_new(SENDER_SPACING_MS);

	assert_int_equal(tracks_put(t, &r, 1), 0);
	assert_int_equal(tracks_save(t, folder), 0);
	tracks_free(t);
}

/* How many are taken of the file. */
static size_t loaded(int expected)
{
	struct tracks *t = tracks_new(SENDER_SPACING_MS);
	struct track_record r;
	size_t at = 0, n = 0;

	assert_int_equal(tracks_load(t, folder, NOW_NS, 1), expected);
	while (tracks_next(t, &at, &r))
		n++;
	tracks_free(t);
	return n;
}

static void what_is_saved_comes_back(void **state)
{
	struct tracks *t = tracks_new(SENDER_SPACING_MS);
	struct track_record r;
	size_t at = 0;

	(void)state;
	assert_int_equal(loaded(0), 0); /* none */
	assert_int_equal(tracks_save(t, folder), 0);
	assert_int_equal(loaded(0), 0); /* an empty one */
	for (uint64_t key = 1; key <= 1000; key++) {
		r = record(key);
		assert_int_equal(tracks_put(t, &r, 1), 0);
	}
	assert_int_equal(tracks_save(t, folder), 0);
	assert_int_equal(faccessat(folder, "tracks.new", F_OK, 0), -1);
	tracks_free(t);
	t = tracks_new(SENDER_SPACING_MS);
	assert_int_equal(tracks_load(t, folder, NOW_NS, 1), 0);
	for (uint64_t key = 1; key <= 1000; key++) {
		struct track_record want = record(key);

		assert_true(tracks_next(t, &at, &r));
		assert_memory_equal(&r, &want, sizeof(r));
	}
	assert_false(tracks_next(t, &at, &r));
	tracks_free(t);
}

/* What could keep a series' points back, or is no track, is left out. */
static void what_cannot_be_is_left_out(void **state)
{
	struct track_record r = record(1);

	(void)state;
	save(r);
	assert_int_equal(loaded(0), 1);
	r.end_ns = NOW_NS + 400 * NS_PER_S;
	save(r);
	assert_int_equal(loaded(0), 0);
	r.end_ns = NOW_NS - 25 * 3600 * NS_PER_S;
	r.start_ns = r.end_ns - 1;
	save(r);
	assert_int_equal(loaded(0), 0);
	r = record(1);
	r.start_ns = r.end_ns + 1;
	save(r);
	assert_int_equal(loaded(0), 0);
	r = record(1);
	r.set_start_ns = INT64_MIN;
	save(r);
	assert_int_equal(loaded(0), 0);
	r = record(1);
	r.value = 0.0 / 0.0;
	save(r);
	assert_int_equal(loaded(0), 0);
}

/* Each byte that is another, and each length. */
static void a_damaged_file_is_none(void **state)
{
	char data[128];
	ssize_t len;
	int fd;

	(void)state;
	save(record(1));
	fd = openat(folder, "tracks", O_RDWR);
	len = pread(fd, data, sizeof(data), 0);
	assert_int_equal(len, 16 + sizeof(struct track_record));
	for (ssize_t i = 0; i < len; i++) {
		char bad = (char)(data[i] ^ 0x10);

		assert_int_equal(pwrite(fd, &bad, 1, i), 1);
		assert_int_equal(loaded(-EBADMSG), 0);
		assert_int_equal(pwrite(fd, &data[i], 1, i), 1);
	}
	assert_int_equal(pwrite(fd, data, 1, len), 1);
	assert_int_equal(loaded(-EBADMSG), 0);
	for (ssize_t i = 0; i < len; i++) {
		assert_int_equal(ftruncate(fd, i), 0);
		assert_int_equal(loaded(-EBADMSG), 0);
	}
	assert_int_equal(ftruncate(fd, 1ll << 40), 0); /* nothing of it is read */
	assert_int_equal(loaded(-EBADMSG), 0);
	close(fd);
}

static void a_file_that_others_can_write_is_none_of_ours(void **state)
{
	struct tracks *t = tracks_new(SENDER_SPACING_MS);

	(void)state;
	save(record(1));
	assert_int_equal(fchmodat(folder, "tracks", 0666, 0), 0);
	assert_int_equal(loaded(-EACCES), 0);
	assert_int_equal(renameat(folder, "tracks", folder, "other"), 0);
	assert_int_equal(fchmodat(folder, "other", 0600, 0), 0);
	assert_int_equal(symlinkat("other", folder, "tracks"), 0);
	assert_int_equal(loaded(-ELOOP), 0);
	assert_int_equal(mkfifoat(folder, "fifo", 0600), 0);
	assert_int_equal(renameat(folder, "fifo", folder, "tracks"), 0);
	assert_int_equal(loaded(-EACCES), 0);
	assert_int_equal(symlinkat("other", folder, "tracks.new"),
			 0); /* nor is anything written through it */
	assert_int_equal(tracks_save(t, folder), 0);
	assert_int_equal(loaded(0), 0);
	assert_int_equal(renameat(folder, "other", folder, "tracks"), 0);
	assert_int_equal(loaded(0), 1);
	tracks_free(t);
}

static void reopen(struct fake *f)
{
	sender_close(f->s);
	assert_int_equal(sender_open_with(&f->s, &f->opt, &f->env), 0);
}

/* A count began anew while the same job went on: its start is one that we chose, and stays. */
static void a_moved_start_outlives_a_restart(void **state)
{
	static const int64_t steps[] = {5, 9, 2, 3};
	struct fake_series *k;
	struct fake f;
	uint64_t key;
	size_t at = 0;

	(void)state;
	fake_begin(&f, dir);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		fake_tick(&f, 1, steps[i], true, false);
		f.ms += 10000;
	}
	reopen(&f);
	fake_tick(&f, 1, 4, true, false);
	f.ms += 1000; /* nor is it too soon */
	reopen(&f);
	fake_tick(&f, 1, 5, true, false);
	assert_int_equal(fake_stats(&f).dropped[SENDER_DROP_frequent], 2);
	f.ms += 10000;
	fake_tick(&f, 1, 5, true, false);
	assert_int_equal(f.wrong, 0);
	assert_int_equal(f.warnings, 0);
	k = table_next(f.known, &at, &key); /* the steps */
	assert_int_equal(k->points, 6);
	assert_int_equal(k->resets, 1);
	fake_end(&f);
}

/* An older job of the name has the series again: its count is another one, and larger. */
static void an_older_count_starts_anew(void **state)
{
	static const int64_t start_s[] = {-5, -5, -500};
	struct fake_series *k;
	struct series_set set;
	size_t at = 0;
	uint64_t key;
	struct fake f;

	(void)state;
	fake_begin(&f, NULL);
	for (int64_t i = 0; i < 3; i++) {
		fake_set(&set, 1, FAKE_EPOCH_NS + start_s[i] * NS_PER_S, fake_now_ns(&f), 10 + i,
			 false);
		sender_send(f.s, &set, fake_now_ns(&f), fake_mono_ms(&f) + 10000, false);
		series_set_free(&set);
		f.ms += 10000;
	}
	k = table_next(f.known, &at, &key);
	assert_int_equal(k->points, 3);
	assert_int_equal(k->resets, 1);
	assert_int_equal(f.wrong, 0);
	fake_end(&f);
}

/* An hour ahead when the machine started, and then set right: the service took nothing of that
 * hour, and what comes now is as if nothing had been. Of a few minutes it did. */
static void a_clock_that_is_set_right_costs_nothing(void **state)
{
	static const uint64_t ahead_ms[] = {3600 * 1000, 240 * 1000};
	struct sender_stats was, is;
	struct series_set set;
	struct fake f;

	(void)state;
	for (int i = 0; i < 2; i++) {
		int64_t ahead_ns = (int64_t)ahead_ms[i] * NS_PER_MS;

		fake_begin(&f, NULL);
		for (int64_t k = 0; k < 3; k++) {
			fake_set(&set, 1, FAKE_EPOCH_NS + ahead_ns - NS_PER_S,
				 fake_now_ns(&f) + ahead_ns, 10 + k, true);
			sender_send(f.s, &set, fake_now_ns(&f), fake_mono_ms(&f) + 10000, false);
			series_set_free(&set);
			f.ms += 10000;
		}
		was = fake_stats(&f);
		assert_int_equal(was.written, i ? 6 : 0);
		f.wrong = 0;
		fake_tick(&f, 1, 20, true, false);
		f.ms += 10000;
		fake_tick(&f, 1, 21, true, false);
		is = fake_stats(&f);
		assert_int_equal(is.written - was.written, i ? 0 : 4);
		assert_int_equal(is.dropped[SENDER_DROP_older], i ? 4 : 0);
		assert_int_equal(f.wrong, 0);
		fake_end(&f);
	}
}

/* Killed: what moved was on disk at once. A damaged file costs a line and a point. */
static void a_moved_start_outlives_a_kill(void **state)
{
	struct sender *killed;
	char path[96], kept[96];
	struct fake f;

	(void)state;
	fake_begin(&f, dir);
	fake_tick(&f, 1, 9, false, false);
	f.ms += 10000;
	fake_tick(&f, 1, 2, false, false);
	f.ms += 10000;
	fake_tick(&f, 1, 3, false, false);
	f.ms += 10000;
	killed = f.s;
	snprintf(path, sizeof(path), "%s/tracks", dir);
	snprintf(kept, sizeof(kept), "%s/kept", dir);
	assert_int_equal(rename(path, kept), 0); /* the file as it was when it was killed */
	sender_close(killed);
	assert_int_equal(rename(kept, path), 0);
	assert_int_equal(sender_open_with(&f.s, &f.opt, &f.env), 0);
	fake_tick(&f, 1, 4, false, false);
	assert_int_equal(f.wrong, 0);
	sender_close(f.s);
	assert_int_equal(truncate(path, 20), 0);
	assert_int_equal(sender_open_with(&f.s, &f.opt, &f.env), 0);
	assert_int_equal(f.warnings, 1);
	f.ms += 10000;
	fake_tick(&f, 1, 5, false, false);
	assert_int_equal(f.wrong, 1);
	f.ms += 10000;
	fake_tick(&f, 1, 6, false, false);
	assert_int_equal(f.wrong, 1);
	fake_end(&f);
}

/* Jobs come and go: what is remembered of their series is not more than a set holds, but of a few
 * minutes. */
static void what_ended_is_forgotten(void **state)
{
	struct track_record r = {.start_ns = 1000 * NS_PER_S, .end_ns = 2000 * NS_PER_S};
	struct tracks *t = tracks_new(SENDER_SPACING_MS);
	const uint64_t minute_ms = 60 * 1000;

	(void)state;
	/* a gauge has nothing to go on with, unless its points are refused; a sum has its start */
	assert_int_equal(tracks_put(t, &(struct track_record){.key = 1, .end_ns = 1}, 1), 0);
	assert_int_equal(tracks_put(t, &(struct track_record){.key = 2, .end_ns = 1}, 1), 0);
	tracks_refused(t, 2, TRACK_UNFIT, 1);
	r.key = 3;
	assert_int_equal(tracks_put(t, &r, 1), 0);
	tracks_prune(t, minute_ms);
	assert_int_equal(tracks_end_ns(t, 1), 1);
	tracks_prune(t, minute_ms + 2);
	assert_int_equal(tracks_end_ns(t, 1), 0);
	assert_int_equal(tracks_end_ns(t, 2), 1);
	tracks_prune(t, TRACKS_REFUSED_MS + 2);
	assert_int_equal(tracks_end_ns(t, 2), 0);
	assert_int_equal(tracks_end_ns(t, 3), r.end_ns);
	/* of more sums than can be written at once those of ten minutes stay */
	for (r.key = 4; r.key < SERIES_SET_MAX + 4; r.key++)
		assert_int_equal(tracks_put(t, &r, 5 * minute_ms), 0);
	tracks_prune(t, 11 * minute_ms);
	assert_int_equal(tracks_end_ns(t, 3), 0);
	assert_int_equal(tracks_end_ns(t, 4), r.end_ns);
	tracks_free(t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ended_is_forgotten),
		TEST(what_is_saved_comes_back),
		TEST(what_cannot_be_is_left_out),
		TEST(a_damaged_file_is_none),
		TEST(a_file_that_others_can_write_is_none_of_ours),
		TEST(a_moved_start_outlives_a_restart),
		TEST(an_older_count_starts_anew),
		TEST(a_clock_that_is_set_right_costs_nothing),
		TEST(a_moved_start_outlives_a_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

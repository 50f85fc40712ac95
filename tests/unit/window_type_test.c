/* SPDX-License-Identifier: Apache-2.0 */
/* Custom events by type in windows: as a list of all pieces has them, also copied, saved, put
 * behind others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/base/archive.h"
#include "userspace/model/time/window.h"

#define SECOND 1000000000ull
#define HOUR   (3600 * SECOND)
#define PIECES 20000

static struct ledger_span piece[PIECES];
static uint64_t rng;

static uint64_t any(uint64_t limit)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (rng >> 33) % limit;
}

/* Eight days in pieces of up to 70 s; a third of them custom events, of five types and none. */
static void make(uint64_t seed)
{
	uint64_t at_ns = 3 * HOUR;

	rng = seed;
	for (size_t i = 0; i < PIECES; i++) {
		uint64_t ns = any(70000) * 1000000;
		bool custom = any(3) == 0;

		piece[i] = (struct ledger_span){.from_ns = at_ns,
						.to_ns = at_ns + ns,
						.bucket = custom ? BUCKET_CUSTOM : BUCKET_GOODPUT,
						.was = BUCKET_COUNT,
						.ns = ns,
						.type = custom ? (uint32_t)any(6) * 6
							       : LEDGER_REST};
		at_ns += ns;
	}
}

static struct window *filled(size_t from, size_t to)
{
	struct window *w = window_new(piece[from].from_ns);

	assert_non_null(w);
	for (size_t i = from; i < to; i++)
		assert_int_equal(window_add(w, &piece[i]), 0);
	return w;
}

static uint64_t truth(uint32_t type, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < PIECES; i++) {
		uint64_t a_ns = piece[i].from_ns > from_ns ? piece[i].from_ns : from_ns;
		uint64_t b_ns = piece[i].to_ns < to_ns ? piece[i].to_ns : to_ns;

		if (piece[i].bucket == BUCKET_CUSTOM && piece[i].type == type && a_ns < b_ns)
			sum_ns += b_ns - a_ns;
	}
	return sum_ns;
}

static void is_true(const struct window *w)
{
	static const uint64_t lengths[] = {HOUR, 5 * HOUR, 24 * HOUR, 168 * HOUR};
	static const struct type_names names = {.name = {"", "A", "B", "C", "D", "E", "SIX"}};
	char room[LEDGER_NAME_MAX];
	const char *name;
	uint64_t ns;

	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		uint64_t custom_ns = 0, sum_ns = 0;
		struct window_view v;
		bool six = false;

		window_view(w, piece[PIECES - 1].to_ns, lengths[k], 0, &v);
		for (uint32_t type = 0; type < LEDGER_TYPES; type++) {
			ns = truth(type, v.from_ns, v.to_ns);
			custom_ns += ns;
			assert_int_equal(v.type_ns[type], type ? ns : 0);
		}
		assert_int_equal(v.ns[BUCKET_CUSTOM], custom_ns);
		for (uint32_t i = 0; (name = window_part(&v, &names, i, room, &ns)); i++) {
			sum_ns += ns;
			six |= !strcmp(name, "CUSTOM_BADPUT_EVENTS.SIX") && ns == v.type_ns[6];
		}
		assert_true(six);
		assert_int_equal(sum_ns, window_elapsed(&v));
	}
}

static void test_types(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct window *w, *copy;

		make(seed);
		w = filled(0, PIECES);
		is_true(w);
		copy = window_copy(w);
		window_free(w);
		is_true(copy);
		window_free(copy);
	}
}

static void test_archive(void **state)
{
	struct window *w, *loaded = NULL;
	struct buffer bytes = {0};
	struct archive a;

	(void)state;
	make(7);
	w = filled(0, PIECES);
	archive_write(&a, &bytes, "gp-test!", 1);
	window_archive(&a, &w);
	assert_int_equal(archive_end(&a), 0);
	archive_read(&a, bytes.data, bytes.len, "gp-test!", 1);
	window_archive(&a, &loaded);
	assert_int_equal(archive_end(&a), 0);
	is_true(loaded);
	window_free(loaded);
	window_free(w);
	buffer_free(&bytes);
}

/* One window ends where another, which began before, goes on: what that had by then does not count
 * twice. */
static void test_merge(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < PIECES; cut += PIECES / 9) {
		struct window *past, *whole;
		struct window_edge edge;

		make(11);
		past = filled(0, cut);
		window_edge(past, piece[cut].from_ns, &edge);
		whole = filled(0, PIECES);
		assert_int_equal(window_merge(past, whole, piece[cut].from_ns, &edge), 0);
		is_true(past);
		window_free(past);
		window_free(whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_archive),
		cmocka_unit_test(test_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

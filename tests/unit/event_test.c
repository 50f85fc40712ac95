/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "userspace/ingest/event.h"

static _Alignas(8) char buf[GP_RECORD_MAX + 8];

static void test_every_kind_round_trips(void **state)
{
	struct event ev;
	int count = 0;
	char *payload;

	(void)state;
	for (unsigned kind = 0; kind < 2 * GP_KIND_MAX; kind++) {
		if (!event_length(kind)) {
			assert_string_equal(event_kind_name(kind), "?");
			continue;
		}
		count++;
		memset(buf, 0xaa, sizeof(buf));
		payload = event_init(buf, kind, 11, 22, 33);
		assert_ptr_equal(payload, buf + sizeof(struct gp_rec));
		for (size_t i = sizeof(struct gp_rec); i < event_length(kind); i++)
			assert_int_equal(buf[i], 0);
		assert_int_equal(event_decode(buf, event_length(kind), &ev), 0);
		assert_int_equal(ev.rec->kind, kind);
		assert_int_equal(ev.rec->ts_ns, 11);
		assert_int_equal(ev.rec->pid, 22);
		assert_int_equal(ev.rec->tid, 0);
		assert_int_equal(ev.rec->probe, 33);
		assert_ptr_equal(ev.payload, payload);
	}
#define X(id, name, type) count--;
	GP_KINDS(X)
#undef X
	assert_int_equal(count, 0);
}

static void test_rejects(void **state)
{
	struct gp_rec *rec = (void *)buf;
	struct event ev;
	size_t len = event_length(GP_KIND_hit);

	(void)state;
	event_init(buf, GP_KIND_hit, 1, 2, 3);
	for (size_t n = 0; n <= len + 16; n++)
		assert_int_equal(event_decode(buf, n, &ev), n == len ? 0 : -EBADMSG);
	rec->len = (__u16)(len - 8); /* short */
	assert_int_equal(event_decode(buf, rec->len, &ev), -EBADMSG);
	assert_int_equal(event_decode(buf, len, &ev), -EBADMSG);
	rec->len = (__u16)(len + 8); /* long */
	assert_int_equal(event_decode(buf, rec->len, &ev), -EBADMSG);
	event_init(buf, GP_KIND_hit, 1, 2, 3);
	for (unsigned kind = 0; kind <= UINT16_MAX; kind++) {
		rec->kind = (__u16)kind;
		assert_int_equal(event_decode(buf, len, &ev),
				 event_length(kind) == len ? 0 : -EBADMSG);
	}
	event_init(buf, GP_KIND_hit, 1, 2, 3);
	memmove(buf + 4, buf, len); /* misaligned */
	assert_int_equal(event_decode(buf + 4, len, &ev), -EBADMSG);
}

static size_t records_in(size_t len)
{
	size_t n = 0;

	for (unsigned long at = 0; gp_rec_next(buf, len, &at);)
		n++;
	return n;
}

static void test_records_follow_each_other(void **state)
{
	const size_t one = (event_length(GP_KIND_hit) + 7) & ~(size_t)7;
	struct gp_rec *second = (struct gp_rec *)(buf + one);

	(void)state;
	event_init(buf, GP_KIND_hit, 1, 2, 3);
	event_init(buf + one, GP_KIND_hit, 1, 2, 3);
	assert_int_equal(records_in(2 * one), 2);
	assert_int_equal(records_in(2 * one - 1), 1); /* cut off */
	assert_int_equal(records_in(one + sizeof(*second) - 1), 1);
	assert_int_equal(records_in(0), 0);
	second->len = sizeof(*second) - 1; /* where the next one starts is not known */
	assert_int_equal(records_in(2 * one), 1);
	second->len = UINT16_MAX;
	assert_int_equal(records_in(2 * one), 1);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(event_kind_name(GP_KIND_range_begin), "range_begin");
	assert_string_equal(event_role_name(GP_ROLE_graph_launch), "graph_launch");
	assert_string_equal(event_role_name(10000), "?");
	assert_string_equal(event_loss_name(GP_LOSS_ring_call), "ring_call");
	assert_string_equal(event_loss_name(GP_LOSS_CAUSE_COUNT), "?");
	assert_string_equal(event_insn_name(GP_INSN_nop5), "nop5");
	assert_string_equal(event_insn_name(UINT32_MAX), "?");
	assert_string_equal(event_attach_state_name(GP_ATTACH_refused), "refused");
	assert_string_equal(event_attach_state_name(99), "?");
}

/* The names of those up to count that have the attribute. */
static void names_with(bool has(unsigned), const char *name(unsigned), unsigned count,
		       char out[512])
{
	*out = '\0';
	for (unsigned i = 0; i < count; i++)
		if (has(i))
			strcat(strcat(out, " "), name(i));
}

/* All of them: a new row decides for itself, not by its place. */
static void test_attributes(void **state)
{
	char names[512];

	(void)state;
	names_with(event_role_uses_device, event_role_name, 10000, names);
	assert_string_equal(
		names,
		" compile launch graph_launch execute sync copy collective comm_init alloc copy_in copy_out capture");
	names_with(event_loss_of_data, event_loss_name, 100, names);
	assert_string_equal(
		names,
		" ring_call ring_life watch_full slots_full open_full read_fault late malformed tape stack_full");
	names_with(event_loss_may_hide_marker, event_loss_name, 100, names);
	assert_string_equal(names, " ring_call read_fault late malformed tape stack_full");
}

static void test_text_is_bounded(void **state)
{
	struct gp_range_begin *r = event_init(buf, GP_KIND_range_begin, 1, 2, 3);
	char out[2 * GP_NAME_MAX];

	(void)state;
	memset(r->name, 'n', sizeof(r->name)); /* as a hostile writer would: no terminator */
	event_text(out, sizeof(out), r->name, sizeof(r->name));
	assert_int_equal(strlen(out), GP_NAME_MAX);
	memcpy(r->name, "a\033b", 4);
	assert_string_equal(event_text(out, sizeof(out), r->name, sizeof(r->name)), "a?b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_round_trips),
		cmocka_unit_test(test_rejects),
		cmocka_unit_test(test_records_follow_each_other),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_text_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - a move of a .case file, and the words of devices and communicators. */
#ifndef TESTS_CASES_DEVICE_H
#define TESTS_CASES_DEVICE_H

#include "tests/cases/script.h"

struct move {
	uint64_t at_ns;
	int argc;
	char *argv[24];
};

static inline uint64_t move_ns(const struct move *m, int i, uint64_t otherwise)
{
	uint64_t ns;

	return i < m->argc && script_duration(m->argv[i], &ns) ? ns : otherwise;
}

static inline uint64_t move_number(const struct move *m, int i, uint64_t otherwise)
{
	return i < m->argc ? strtoull(m->argv[i], NULL, 0) : otherwise;
}

/* First argument that is not a duration. */
static inline const char *move_text(const struct move *m, const char *otherwise)
{
	uint64_t ns;

	for (int i = 1; i < m->argc; i++) {
		if (!script_duration(m->argv[i], &ns))
			return m->argv[i];
	}
	return otherwise;
}

/* The first duration, wherever. */
static inline uint64_t move_length(const struct move *m)
{
	uint64_t ns;

	for (int i = 1; i < m->argc; i++) {
		if (script_duration(m->argv[i], &ns))
			return ns;
	}
	return 0;
}

/* The duration that follows a word; 0: the word is not there. */
static inline uint64_t move_after(const struct move *m, const char *word)
{
	for (int i = 1; i < m->argc; i++) {
		if (!strcmp(m->argv[i], word))
			return move_ns(m, i + 1, 0);
	}
	return 0;
}

/* fault XID [host]: the kernel's log names this process, or none. */
static inline void word_fault(struct script *s, const struct move *m)
{
	bool host = m->argc > 2 && !strcmp(m->argv[2], "host");
	struct gp_fault *f = script_add(s, GP_KIND_fault, m->at_ns, host ? 0 : script_pid(s), -1);

	f->code = (__s64)move_number(m, 1, 0);
	snprintf(f->driver, sizeof(f->driver), "NVRM");
	snprintf(f->device, sizeof(f->device), "PCI:0000:3b:00");
	snprintf(f->text, sizeof(f->text), "GPU has fallen off the bus.");
}

/* unsent N PROBE: so many calls were counted instead of told. budget STATE PROBE: it sits so from
 * here on. */
static inline void word_budget(struct script *s, const struct move *m)
{
	static const struct {
		const char *word;
		int probe;
	} probes[] = {{"collective", P_COLLECTIVE},
		      {"sync", P_SYNC},
		      {"copy", P_COPY},
		      {"product", P_PRODUCT},
		      {"solve", P_SOLVE}};
	static const char *const states[] = {
#define X(id, name) [id] = #name,
		GP_ATTACH_STATES(X)
#undef X
	};
	struct gp_attach *a;
	int probe = -1;

	for (size_t i = 0; m->argc > 2 && i < sizeof(probes) / sizeof(probes[0]); i++)
		probe = !strcmp(m->argv[2], probes[i].word) ? probes[i].probe : probe;
	if (probe < 0) {
		script_fail(s, "%s of which probe?", m->argv[0]);
		return;
	}
	if (!strcmp(m->argv[0], "unsent")) {
		((struct gp_counter *)script_add(s, GP_KIND_counter, m->at_ns, script_pid(s),
						 probe))
			->count = move_number(m, 1, 1);
		return;
	}
	a = script_add(s, GP_KIND_attach, m->at_ns, 0, probe);
	a->ino = 7;
	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		a->state = !strcmp(states[i], m->argv[1]) ? (__u8)i : a->state;
}

/* made ROW D [RET [VALUE...]]: a call of the made-up runtime; it took D, returned RET, and its
 * probe read these values. */
static inline void word_made(struct script *s, const struct move *m)
{
	const struct probe_table *t = script_made_table();
	uint64_t ns = move_length(m);
	struct gp_call *c;
	char id[64];
	size_t row;

	snprintf(id, sizeof(id), "made.%s", m->argc > 1 ? m->argv[1] : "");
	row = probe_table_index(t, gp_probe_hash(id));
	if (row == probe_table_count(t)) {
		script_fail(s, "made: %s has no row %s", SCRIPT_MADE, id);
		return;
	}
	c = script_add(s, GP_KIND_call, m->at_ns + ns, script_pid(s), -1);
	((struct gp_rec *)c - 1)->probe = probe_table_row(t, row)->hash;
	c->dur_ns = ns;
	c->ret = (__s64)move_number(m, 3, 0);
	for (int i = 0; i < GP_ARGS; i++)
		c->arg[i] = move_number(m, 4 + i, 0);
}

/* Calls of a device's runtime and of communicators. */
static inline bool word_device(struct script *s, const struct move *m)
{
	static const struct {
		const char *word;
		int probe;
	} words[] = {{"collective", P_COLLECTIVE}, {"copy", P_COPY},	    {"error", P_ERROR},
		     {"comm_error", P_COMM_ERROR}, {"comm_abort", P_ABORT}, {"alloc", P_ALLOC},
		     {"build", P_BUILD},	   {"suspend", P_SUSPEND},  {"resume", P_RESUME},
		     {"wait_device", P_WAIT}};
	uint64_t ns = move_length(m);
	struct gp_call *c;

	if (!strcmp(m->argv[0], "fault")) {
		word_fault(s, m);
		return true;
	}
	if (!strcmp(m->argv[0], "unsent") || !strcmp(m->argv[0], "budget")) {
		word_budget(s, m);
		return true;
	}
	if (!strcmp(m->argv[0], "made")) {
		word_made(s, m);
		return true;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		int probe = words[i].probe;

		if (strcmp(m->argv[0], words[i].word) != 0)
			continue;
		c = script_add(s, GP_KIND_call, m->at_ns + ns, script_pid(s), probe);
		c->dur_ns = ns;
		if (probe == P_ERROR)
			c->ret = (__s64)move_number(m, 1, 0);
		else if (probe == P_ALLOC || probe == P_WAIT)
			c->ret = (__s64)move_number(m, 2, 0);
		else if (probe == P_SUSPEND || probe == P_RESUME)
			c->arg[0] = 1000 * strtoull(m->argc > 2 ? m->argv[2] + 1 : "0", NULL, 0);
		if (probe == P_COLLECTIVE || probe == P_COPY)
			c->arg[0] = move_number(m, 2, 0);
		else if (probe == P_ALLOC)
			c->arg[0] = move_number(m, 1, 0);
		else if (probe == P_COMM_ERROR)
			c->arg[1] = move_number(m, 1, 0);
		if (probe == P_COPY)
			c->arg[1] = m->argc > 3 && !strcmp(m->argv[3], "out") ? 2 : 1;
		else if (probe == P_COLLECTIVE)
			c->arg[2] = move_number(m, 3, 1);
		return true;
	}
	return false;
}

#endif

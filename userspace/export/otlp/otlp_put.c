/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_put.c - puts spans of a process into the queue, and writes plain spans, which have only a
 * name and a time. */
#include "userspace/export/otlp/otlp_tree_private.h"

#include <string.h>

#include "userspace/base/hash.h"
#include "userspace/export/otlp/otlp_text.h"

uint64_t otlp_id_of(const struct otlp_process *p, const char *name, uint64_t a, uint64_t b)
{
	uint64_t hash = hash_bytes(HASH_START, name, strlen(name));

	hash = hash_word(hash_word(hash, p->owner.pid), p->start_ns);
	return otlp_mix(hash_word(hash_word(hash, a), b) ^ p->owner.trace[0]);
}

void otlp_put(struct otlp_tree *t, const struct otlp_process *p)
{
	if (t->repeated)
		return;
	if (p->dated && !t->text.failed)
		otlp_queue_put(t->queue, t->text.data, t->text.len);
	else
		t->view.unplaced++;
	if (t->text.failed) {
		buffer_free(&t->text);
		t->text.failed = false;
	}
}

void otlp_plain(struct otlp_tree *t, struct otlp_process *p, const char *name, uint64_t parent,
		uint64_t from_ns, uint64_t to_ns)
{
	struct otlp_span s = {.name = name,
			      .id = otlp_id_of(p, name, from_ns, to_ns),
			      .parent = parent,
			      .from_ns = from_ns,
			      .to_ns = to_ns};

	buffer_clear(&t->text);
	otlp_span_begin(&t->text, &p->owner, &s);
	otlp_span_events(&t->text, &p->owner, &s);
	otlp_span_end(&t->text, &p->owner, &s, 0, NULL);
	otlp_put(t, p);
}

bool otlp_event_room(struct otlp_events *e)
{
	if (e->count >= OTLP_EVENTS || e->text.failed) {
		e->dropped++;
		return false;
	}
	e->count++;
	return true;
}

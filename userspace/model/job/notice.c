/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/job/notice.h"

#include <string.h>

#include "userspace/ingest/event.h"

const char *const notice_name[GP_NOTICE_COUNT] = {
#define X(id, name) [id] = #name,
	GP_NOTICES(X)
#undef X
};

static void notices_over(struct notices *ns, unsigned what, const char *pod_uid)
{
	for (int i = 0; i < NOTICES; i++)
		if (ns->at[i].what == what && !strcmp(ns->at[i].pod_uid, pod_uid))
			ns->at[i].what = 0;
}

void notices_add(struct notices *ns, uint64_t now_ns, const struct gp_notice *n)
{
	char pod_uid[sizeof(n->pod_uid)];
	size_t i = ns->count % NOTICES;

	event_copy(pod_uid, n->pod_uid);
	if (!n->what || n->what >= GP_NOTICE_COUNT)
		return;
	notices_over(ns, n->what, pod_uid);
	if (n->over)
		return;
	ns->at[i].reported_ns = now_ns;
	ns->at[i].what = n->what;
	memcpy(ns->at[i].pod_uid, pod_uid, sizeof(pod_uid));
	ns->count++;
}

unsigned notices_find(const struct notices *ns, const char *pod_uid, uint64_t since_ns,
		      uint64_t now_ns)
{
	unsigned own = 0, node = 0;

	for (int i = 0; i < NOTICES; i++) {
		unsigned what = ns->at[i].what, *best = *ns->at[i].pod_uid ? &own : &node;

		if (!what || ns->at[i].reported_ns < since_ns || ns->at[i].reported_ns > now_ns ||
		    (*ns->at[i].pod_uid && strcmp(ns->at[i].pod_uid, pod_uid) != 0))
			continue;
		*best = !*best || what < *best ? what : *best;
	}
	return own ? own : node;
}

void notices_archive(struct archive *a, struct notices *ns)
{
	archive_struct(a, sizeof(*ns));
	archive_field(a, ns->count);
	for (int i = 0; i < NOTICES; i++) {
		archive_field(a, ns->at[i].reported_ns);
		archive_below(a, &ns->at[i].what, GP_NOTICE_COUNT);
		archive_field(a, ns->at[i].pod_uid);
	}
}

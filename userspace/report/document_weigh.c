/* SPDX-License-Identifier: Apache-2.0 */
/* Marks slowdowns of little cost: on a busy machine there are many, of some steps each. */
#include <string.h>

#include "userspace/report/document.h"

/* The slowdown that ended with that row. */
static struct store_health *document_slowdown_start(const struct report_document *s, uint32_t end)
{
	struct store_health *all = s->healths.at;

	for (uint32_t i = end; i-- > 0;)
		if (all[i].rank == all[end].rank && !strcmp(all[i].kind, "fail_slow"))
			return all[i].onset_ns == all[end].onset_ns ? &all[i] : NULL;
	return NULL;
}

/* Each step of usual length took size_ns longer during the slowdown. */
static double document_weigh_cost_ns(const struct report_document *s,
				     const struct store_health *end)
{
	double usual_ns = (double)sketch_quantile(&s->totals.times, 0.5),
	       more_ns = (double)end->size_ns, lasted_ns = (double)(end->at_ns - end->onset_ns);

	return usual_ns + more_ns > 0 ? lasted_ns * more_ns / (usual_ns + more_ns) : lasted_ns;
}

void document_weigh(struct report_document *s)
{
	struct store_health *all = s->healths.at;

	for (uint32_t i = 0; i < s->healths.count; i++) {
		struct store_health *from = strcmp(all[i].kind, "recovered")
						    ? NULL
						    : document_slowdown_start(s, i);

		if (!from || document_weigh_cost_ns(s, &all[i]) * DOCUMENT_MINOR >=
				     (double)ledger_elapsed(&s->ledger))
			continue;
		from->minor = all[i].minor = true;
		s->minor++;
	}
}

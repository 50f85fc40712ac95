/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_feed.h - facts of one rank, told to a tree of spans, and what it queues for the server. */
#ifndef TESTS_UNIT_OTLP_FEED_H
#define TESTS_UNIT_OTLP_FEED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "userspace/export/otlp/otlp_queue.h"
#include "userspace/export/otlp/otlp_tree.h"

#define S	1000000000ull
#define MS	1000000ull
#define WALL_NS (1700000000ull * S)

static struct otlp_queue *queue;
static struct fact_step fact_step;
static struct fact_life life;

static inline struct fact fact_of(enum fact_type type, uint64_t mono_ns)
{
	return (struct fact){
		.type = type,
		.mono_ns = mono_ns,
		.real_ns = (int64_t)(WALL_NS + mono_ns),
		.pid = 7,
		.start_ns = S,
		.run = 1,
		.rank = 3,
		.world_size = 8,
		.job = "llama",
		.life = &life,
	};
}

static inline struct fact step_of(uint64_t number, uint64_t start_ns, uint64_t ns, uint32_t flags)
{
	struct fact f = fact_of(FACT_STEP, start_ns + ns);

	fact_step = (struct fact_step){.step = {.number = number,
						.start_ns = start_ns,
						.end_ns = start_ns + ns,
						.flags = flags,
						.unit = UNIT_STEP},
				       .run_step = number};
	f.step = &fact_step;
	return f;
}

static inline void step(struct otlp_tree *t, uint64_t number, uint64_t start_ns, uint64_t ns,
			uint32_t flags)
{
	struct fact f = step_of(number, start_ns, ns, flags);

	otlp_tree_fact(t, &f);
}

/* All that is queued; the caller's. */
static inline cJSON *taken(void)
{
	struct buffer b = {0};
	cJSON *all;

	buffer_add(&b, "[", 1);
	otlp_queue_take(queue, UINT32_MAX, SIZE_MAX, &b);
	buffer_add(&b, "]", 1);
	all = cJSON_ParseWithLength(b.data, b.len);
	assert_non_null(all);
	buffer_free(&b);
	return all;
}

static inline const char *field(const cJSON *span, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(span, key));
}

/* Its value as text, "" where it is none; NULL: there is no such attribute. */
static inline const char *attribute(const cJSON *o, const char *key)
{
	const cJSON *a;

	cJSON_ArrayForEach(a, cJSON_GetObjectItem(o, "attributes"))
	{
		const cJSON *value = cJSON_GetObjectItem(a, "value");

		if (!strcmp(field(a, "key"), key))
			return cJSON_IsString(value->child) ? value->child->valuestring : "";
	}
	return NULL;
}

/* The n-th of that name; NULL: there are not so many. */
static inline const cJSON *find(const cJSON *all, const char *name, int n)
{
	const cJSON *s;

	cJSON_ArrayForEach(s, all)
	{
		if (!strcmp(field(s, "name"), name) && !n--)
			return s;
	}
	return NULL;
}

static inline void over(struct otlp_tree *t, uint64_t at_ns)
{
	struct ledger_view ledger = {.ended = true};
	struct fact f = fact_of(FACT_LEDGER, at_ns),
		    last = {.type = FACT_END, .mono_ns = at_ns, .job = ""};

	f.ledger = &ledger;
	otlp_tree_fact(t, &f);
	otlp_tree_fact(t, &last);
}

static inline struct otlp_tree *tree(uint32_t sample)
{
	struct otlp_tree *t;

	life = (struct fact_life){.run_start_ns = S, .alive = true};
	queue = otlp_queue_new(0, 0);
	t = otlp_tree_new(queue, sample, "node1");
	assert_non_null(t);
	return t;
}

static inline void drop(struct otlp_tree *t, cJSON *all)
{
	cJSON_Delete(all);
	otlp_tree_free(t);
	otlp_queue_free(queue);
}

#endif

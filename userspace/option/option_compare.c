/* SPDX-License-Identifier: Apache-2.0 */
/* option_compare.c - finds the options whose values differ between two sets of options. */
#include <string.h>

#include "userspace/option/option_row.h"

static bool option_compare_list_same(const struct option_list *a, const struct option_list *b)
{
	bool same = a->count == b->count;

	for (int i = 0; same && i < a->count; i++)
		same = !strcmp(a->item[i], b->item[i]);
	return same;
}

static bool option_compare_row_same(const struct option_row *r, const void *a, const void *b)
{
	const char *x, *y;

	switch (r->type) {
	case OPTION_FLAG:
		return *(const bool *)a == *(const bool *)b;
	case OPTION_LIST:
		return option_compare_list_same(a, b);
	case OPTION_REAL:
		return !memcmp(a, b, sizeof(double));
	case OPTION_STRING:
		x = *(char *const *)a;
		y = *(char *const *)b;
		return x && y ? !strcmp(x, y) : x == y;
	default:
		return *(const int64_t *)a == *(const int64_t *)b;
	}
}

void options_compare(const struct options *a, const struct options *b, unsigned command,
		     option_changed_fn *changed, void *ctx)
{
	for (size_t i = 0; i < OPTION_ROWS; i++) {
		const struct option_row *r = &option_rows[i];

		if (r->commands & command &&
		    !option_compare_row_same(r, (const char *)a + r->at, (const char *)b + r->at))
			changed(ctx, r->name);
	}
}

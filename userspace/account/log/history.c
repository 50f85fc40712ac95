/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/log/history.h"

#include <stdlib.h>

size_t goodput_piece_at(const struct goodput_piece *pieces, size_t n, uint64_t at_ns)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pieces[middle].to_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void goodput_history_free(struct goodput_history *h)
{
	if (!h)
		return;
	free(h->pieces);
	free(h->done);
	free(h->runs);
	free(h->saved);
	free(h);
}

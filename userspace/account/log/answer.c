/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/account/log/answer.h"

#include <stdlib.h>

const enum bucket badput_bucket[BADPUTS] = {
#define X(id, bucket) [BADPUT_##id] = BUCKET_##bucket,
	GOODPUT_BADPUTS(X)
#undef X
};

const char *badput_name(int badput)
{
	return badput == BADPUT_LOAD_ASYNC ? "DATA_LOADING_ASYNC"
					   : bucket_name[badput_bucket[badput]];
}

const char *const goodput_warning_words[WARNINGS] = {
#define X(id, words) [WARN_##id] = words,
	GOODPUT_WARNINGS(X)
#undef X
};

void goodput_answer_free(struct goodput_answer *a)
{
	if (!a)
		return;
	free(a->cumulative.custom);
	free(a->excluded.custom);
	for (size_t i = 0; a->windows && i < a->window_count; i++)
		free(a->windows[i].custom);
	for (size_t i = 0; a->at && i < a->at_count; i++)
		free(a->at[i].custom);
	free(a->windows);
	free(a->at);
	free(a->step_times);
	free(a->deviations);
	free(a->disruptions);
	goodput_history_free(a->history);
	*a = (struct goodput_answer){0};
}

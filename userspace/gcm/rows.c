/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/gcm/rows_private.h"

#define ROLLING_MOST_S 999999999 /* 31 years */

const char *rows_job_name(const struct job_view *j, char out[ROWS_NAME_MAX])
{
	if (*j->name)
		return j->name;
	snprintf(out, ROWS_NAME_MAX, "pid-%u", j->first_pid);
	return out;
}

/* A name may read as what another job that has none is called. */
bool rows_same_job(const struct job_view *a, const struct job_view *b)
{
	char room[2][ROWS_NAME_MAX];

	if (*a->name && *b->name)
		return !strcmp(a->name, b->name);
	if (!*a->name && !*b->name)
		return a->first_pid == b->first_pid;
	if (strncmp(*a->name ? a->name : b->name, "pid-", 4) != 0)
		return false;
	return !strcmp(rows_job_name(a, room[0]), rows_job_name(b, room[1]));
}

bool rows_job_shown(const struct snapshot *s, const struct job_view *j)
{
	if (!j->told_here || (j->ledger.ended && s->mono_ns - j->ledger.now_ns > ROWS_AFTER_NS))
		return false;
	for (const struct job_view *x = s->jobs; x < s->jobs + s->njobs; x++) {
		if (x == j || !x->told_here || !rows_same_job(j, x))
			continue;
		if (x->ledger.ended == j->ledger.ended ? x > j : !x->ledger.ended)
			return false;
	}
	return true;
}

int gcm_rolling_read(const char *text, struct gcm_options *o)
{
	int64_t s[GCM_ROLLING_MAX] = {0};
	int n = 0;
	char *end;

	do {
		if (n == GCM_ROLLING_MAX || !isdigit((unsigned char)*text))
			return -EINVAL;
		errno = 0;
		s[n] = strtoll(text, &end, 10);
		if (errno || s[n] < 1 || s[n] > ROLLING_MOST_S || (*end && *end != ','))
			return -EINVAL;
		for (int i = 0; i < n; i++) {
			if (s[i] == s[n])
				return -EINVAL;
		}
		n++;
		text = end + 1;
	} while (*end);
	memcpy(o->rolling_s, s, sizeof(s));
	return 0;
}

bool gcm_project_valid(const char *id)
{
	size_t len = strlen(id);

	/* Domain-scoped ones have a point and a colon: "example.com:demo". */
	return len > 0 && len < sizeof(((struct gcm_identity *)NULL)->project) &&
	       isalnum((unsigned char)*id) &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-.:") == len;
}

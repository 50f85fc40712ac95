/* SPDX-License-Identifier: Apache-2.0 */
/* model_live.c - finds a followed process by its pid. */
#include "userspace/model/model_private.h"

struct rank *model_rank(struct model *m, uint32_t pid)
{
	if (!m->last || m->last_pid != pid)
		m->last = table_get(m->live, pid);
	m->last_pid = pid;
	return m->last;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/epoll.h>

#include "userspace/watch/watch_private.h"

int watch_wakes(struct watch *w, loop_fn *fn)
{
	const struct loader_ring *rings;
	int n = loader_rings(w->loader, &rings), err = 0;

	/* Edges only: most records wake nobody, and are there all the time. */
	for (int i = 0; i < n && !err; i++)
		err = loop_add_fd(w->loop, rings[i].fd, EPOLLIN | EPOLLET, fn, w);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/mapping.h"
#include "loader/reader_private.h"
#include "userspace/base/aside.h"

#define INSN_MAX     16 /* bytes that the kernel copies of a probed instruction, at most */
#define MEMORY_BYTES (1ull << 30)

struct served { /* one file */
	int path_fd;
	bool by_path;
	void *map; /* MAP_FAILED: none */
	struct site *sites;
	int count;
};

/* Putting a probe into a page that is not in memory reads it, and meanwhile the kernel lets no
 * process of the whole machine fork (dup_mmap_sem in kernel/events/uprobes.c). So a page that the
 * file system will not leave in memory gets no probe. */
static bool page_resident(int fd, uint64_t offset, size_t page)
{
	unsigned char resident = 0;
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, (off_t)offset);

	if (at == MAP_FAILED)
		return false;
	if (mincore(at, page, &resident))
		resident = 0;
	munmap(at, page);
	return resident & 1;
}

static bool page_hold(int fd, uint64_t offset, size_t page)
{
	char byte;

	return page_resident(fd, offset, page) ||
	       (pread(fd, &byte, 1, (off_t)offset) == 1 && page_resident(fd, offset, page));
}

static void sites_hold(int fd, struct site *sites, int count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (int i = 0; i < count; i++) {
		uint64_t first = sites[i].offset & ~(page - 1);
		uint64_t last = (sites[i].offset + INSN_MAX - 1) & ~(page - 1);

		if (sites[i].state != GP_ATTACH_attached)
			continue;
		/* Behind the file's last page there is nothing to read. */
		if (page_hold(fd, first, page) &&
		    (first == last || lseek(fd, 0, SEEK_END) <= (off_t)last ||
		     page_hold(fd, last, page)))
			continue;
		sites[i].state = GP_ATTACH_failed;
		sites[i].error = -EAGAIN;
	}
}

static int file_serve(const struct reader_ask *ask, const struct probe_table *probes,
		      const char *cache_dir, struct served *s)
{
	int fd = mapping_open(ask->pid, &ask->vma, ask->path, &s->path_fd, &s->by_path);
	int err = 0;

	if (fd < 0)
		return fd;
	s->map = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		      0);
	if (s->map == MAP_FAILED)
		err = -errno;
	else if (ask->memory)
		s->count = sites_find_in(
			probes, ask->rows, ask->rows_count, fd,
			&(struct site_memory){ask->pid, ask->vma.start, ask->table}, &s->sites);
	else if (ask->followed)
		s->count = sites_find_at(probes, ask->rows[0], ask->followed, fd, &s->sites);
	else
		s->count = sites_find(probes, ask->rows, ask->rows_count, cache_dir, fd, &s->sites);
	if (!err && s->count < 0)
		err = s->count;
	if (!err)
		sites_hold(fd, s->sites, s->count);
	close(fd);
	return err;
}

static int reply_send(int fd, struct reader_reply *reply, const struct served *s)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS}};
	struct iovec parts[2] = {{reply, sizeof(*reply)},
				 {s->sites, reply->count * sizeof(*s->sites)}};
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = reply->count ? 2 : 1};

	if (!reply->error) {
		memcpy(CMSG_DATA(&control.head), &s->path_fd, sizeof(s->path_fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.bytes);
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int settle(int *fd)
{
#if !defined(__SANITIZE_ADDRESS__) /* which reserves more */
	setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY_BYTES, MEMORY_BYTES});
#endif
	return aside_settle("gp-bpf-reader", fd, -1);
}

void reader_serve(int fd, const struct probe_table *probes, const char *cache_dir)
{
	static struct reader_ask ask;

	if (settle(&fd))
		_exit(1);
	while (recv(fd, &ask, sizeof(ask), 0) == sizeof(ask)) {
		struct served s = {.path_fd = -1, .map = MAP_FAILED};
		struct reader_reply reply = {.error = file_serve(&ask, probes, cache_dir, &s)};

		reply.by_path = s.by_path;
		reply.map_start = (uintptr_t)s.map;
		if (!reply.error)
			reply.count = (uint64_t)s.count;
		if (reply_send(fd, &reply, &s))
			_exit(1);
		/* Mapped until the parent has seen what it is, which its next word tells. */
		if (recv(fd, &ask, sizeof(ask), 0) < 0)
			break;
		if (s.map != MAP_FAILED)
			munmap(s.map, (size_t)sysconf(_SC_PAGESIZE));
		if (s.path_fd >= 0)
			close(s.path_fd);
		free(s.sites);
	}
	_exit(0);
}

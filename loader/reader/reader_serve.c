/* SPDX-License-Identifier: Apache-2.0 */
/* reader_serve.c - the reader process: opens a library, if necessary as its user, and answers
 * requests about it. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "loader/reader/mapping.h"
#include "loader/reader/reader_private.h"
#include "userspace/base/helper.h"
#include "userspace/base/confine.h"
#include "userspace/base/proc_file.h"

#define INSN_MAX     16 /* limit of bytes that the kernel copies from a probed instruction */
#define MEMORY_BYTES (1ull << 30)
/* Distance past the end of a file. It is larger than any page, so a page at this distance is never
 * the last page of the file. */
#define PAST_END_BYTES (1ll << 30)
/* A reader that runs as another user is killed after this time; requests take less. */
#define AS_USER_S    10
#define GROUPS_MAX   256
#define STATUS_BYTES 8192

struct served { /* state of one request */
	int path_fd;
	bool by_path;
	bool as_user; /* the reader runs as another user now */
	void *map;    /* MAP_FAILED: none */
	struct site *sites;
	int count;
};

/* Pages that the file system does not keep in memory get no probe: attaching a probe reads such a
 * page, and meanwhile the kernel does not let any process on the machine fork (dup_mmap_sem in
 * kernel/events/uprobes.c). */
/* Returns 1 when the page at offset is in memory, else 0; -errno when it cannot be mapped. */
static int serve_page_resident(int fd, off_t offset, size_t page)
{
	unsigned char resident = 0;
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, offset);
	int err;

	if (at == MAP_FAILED)
		return -errno;
	err = mincore(at, page, &resident) ? -errno : 0;
	munmap(at, page);
	return err ? err : resident & 1;
}

/* Returns true when mincore() can be trusted. Without CAP_FOWNER it reports every page of another
 * user's file as in memory, even far after its end. File systems of the kernel are trusted even
 * then, because they keep in memory what was read; FUSE may not. */
static bool serve_residence_known(int fd, size_t page)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (!serve_page_resident(fd, (st.st_size + PAST_END_BYTES) & ~(off_t)(page - 1), page))
		return true;
	return !fstatfs(fd, &fs) && fs.f_type != FUSE_SUPER_MAGIC;
}

static bool serve_page_hold(int fd, uint64_t offset, size_t page)
{
	char byte;

	return pread(fd, &byte, 1, (off_t)offset) == 1 &&
	       serve_page_resident(fd, (off_t)offset, page) == 1;
}

static void serve_sites_hold(int fd, struct site *sites, int count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool known = serve_residence_known(fd, page);

	for (int i = 0; i < count; i++) {
		uint64_t first = sites[i].offset & ~(page - 1);
		uint64_t last = (sites[i].offset + INSN_MAX - 1) & ~(page - 1);

		if (sites[i].state != GP_ATTACH_attached)
			continue;
		/* If the second page is past the end of the file, it needs no check: attaching does
		 * not read it. */
		if (known && serve_page_hold(fd, first, page) &&
		    (first == last || lseek(fd, 0, SEEK_END) <= (off_t)last ||
		     serve_page_hold(fd, last, page)))
			continue;
		sites[i].state = GP_ATTACH_failed;
		sites[i].error = known ? -EAGAIN : -ENODATA;
	}
}

/* ---- files that only one user may read ------------------------------------------------------- */

struct identity { /* IDs of a process: real, effective and saved */
	uid_t user[3];
	gid_t group[3];
	gid_t groups[GROUPS_MAX];
	size_t groups_count;
};

static bool serve_ids_parse(const char *status, const char *key, uint32_t ret[3])
{
	const char *at = strstr(status, key);

	return at && sscanf(at + strlen(key), "%u %u %u", &ret[0], &ret[1], &ret[2]) == 3;
}

static int serve_identity_read(pid_t pid, struct identity *ret)
{
	char status[STATUS_BYTES], *at, *end;
	ssize_t n = proc_slurp("", pid, "status", status, sizeof(status));
	unsigned long group;

	if (n < 0)
		return (int)n;
	if (!serve_ids_parse(status, "\nUid:", ret->user) ||
	    !serve_ids_parse(status, "\nGid:", ret->group))
		return -EBADMSG;
	at = strstr(status, "\nGroups:");
	at = at ? at + strlen("\nGroups:") : NULL;
	for (ret->groups_count = 0; at && ret->groups_count < GROUPS_MAX; at = end) {
		group = strtoul(at + strspn(at, "\t "), &end, 10);
		if (end == at + strspn(at, "\t ") || memchr(at, '\n', (size_t)(end - at)))
			break;
		ret->groups[ret->groups_count++] = (gid_t)group;
	}
	return 0;
}

/* Keeps the capabilities to read the memory of the process that maps the file, and to ask which
 * pages of a file are in memory. Prevents other processes of the user from inspecting this
 * process. */
static int serve_identity_keep(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	/* A change of the user resets this setting */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return confine_capabilities(CONFINE_CAP(CAP_SYS_PTRACE) | CONFINE_CAP(CAP_FOWNER));
}

/* Permanently becomes the user of a process. Sets all three IDs, as FUSE compares all. The parent
 * may lack CAP_KILL for that user, so an alarm ends this process. */
static int serve_identity_take(pid_t pid)
{
	const struct identity self = {.user = {getuid(), geteuid(), geteuid()}};
	struct identity id;
	sigset_t alarm_only;
	int err = serve_identity_read(pid, &id);

	if (err)
		return err;
	if (!memcmp(id.user, self.user, sizeof(id.user)))
		return 0;
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
	alarm(AS_USER_S);
	prctl(PR_SET_KEEPCAPS, 1);
	if (setgroups(id.groups_count, id.groups) ||
	    setresgid(id.group[0], id.group[1], id.group[2]) ||
	    setresuid(id.user[0], id.user[1], id.user[2]))
		return errno == EPERM ? -EACCES : -errno;
	return serve_identity_keep();
}

/* Joins the user namespace of a process, which belongs to the user of serve_identity_take(). FUSE
 * with allow_other serves only members of the namespace in which it was mounted. */
static int serve_identity_join(pid_t pid)
{
	int fd = proc_open("", pid, "ns/user", O_RDONLY), err;

	if (fd < 0)
		return fd;
	err = setns(fd, CLONE_NEWUSER) ? -GP_ERROR_CLOSED : serve_identity_keep();
	close(fd);
	return err;
}

static int serve_file_try(const struct reader_ask *ask, struct served *s)
{
	if (s->path_fd < 0)
		s->path_fd = mapping_name(ask->pid, &ask->vma, ask->path, &s->by_path);
	return s->path_fd < 0 ? s->path_fd : mapping_reopen(s->path_fd);
}

/* Opens the mapped file for reading. Returns a descriptor or -errno. */
static int serve_file_open(const struct reader_ask *ask, struct served *s)
{
	int fd = serve_file_try(ask, s), err;

	if (fd != -EACCES)
		return fd;
	s->as_user = true;
	err = serve_identity_take(ask->pid);
	fd = err ? err : serve_file_try(ask, s);
	if (err || fd != -EACCES)
		return fd;
	err = serve_identity_join(ask->pid);
	fd = err ? err : serve_file_try(ask, s);
	return fd == -EACCES ? -GP_ERROR_CLOSED : fd;
}

static int serve_file_reply(const struct reader_ask *ask, const struct probe_table *probes,
			    const char *cache_dir, struct served *s)
{
	int fd = serve_file_open(ask, s), err = 0;

	if (fd < 0)
		return fd;
	s->map = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		      0);
	if (s->map == MAP_FAILED)
		err = -errno;
	else if (ask->followed)
		s->count = sites_find_at(probes, ask->rows[0], ask->followed, fd, &s->sites);
	else
		s->count = sites_find(probes, ask->rows, ask->rows_count, cache_dir, fd, &s->sites);
	if (!err && s->count < 0)
		err = s->count;
	if (!err)
		serve_sites_hold(fd, s->sites, s->count);
	close(fd);
	return err;
}

static int serve_reply_send(int fd, struct reader_reply *reply, const struct served *s)
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

static int serve_settle(int *fd)
{
#if !defined(__SANITIZE_ADDRESS__) /* AddressSanitizer reserves more memory */
	setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY_BYTES, MEMORY_BYTES});
#endif
	return helper_settle("gp-bpf-reader", fd, -1,
			     CONFINE_CAP(CAP_SETUID) | CONFINE_CAP(CAP_SETGID));
}

void reader_serve(int fd, const struct probe_table *probes, const char *cache_dir)
{
	static struct reader_ask ask;

	if (serve_settle(&fd))
		_exit(1);
	while (recv(fd, &ask, sizeof(ask), 0) == sizeof(ask)) {
		struct served s = {.path_fd = -1, .map = MAP_FAILED};
		struct reader_reply reply = {
			.error = serve_file_reply(&ask, probes, cache_dir, &s)};

		reply.by_path = s.by_path;
		reply.last = s.as_user;
		reply.map_start = (uintptr_t)s.map;
		if (!reply.error)
			reply.count = (uint64_t)s.count;
		if (serve_reply_send(fd, &reply, &s))
			_exit(1);
		/* The file stays mapped until the parent's next message, which shows that the
		 * parent has verified the file. */
		if (recv(fd, &ask, sizeof(ask), 0) <= 0 || s.as_user)
			break;
		if (s.map != MAP_FAILED)
			munmap(s.map, (size_t)sysconf(_SC_PAGESIZE));
		if (s.path_fd >= 0)
			close(s.path_fd);
		free(s.sites);
	}
	_exit(0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stuck DIR NAME[,NAME] WHAT [FILE [ro]]: a file system (FUSE, without a library) with a file, that
 * answers everything but WHAT: read, open (from the second on), stat (once the file was opened),
 * lock (reads fail, and from the third on they are not answered: who waits for that page holds its
 * address space locked). With WHAT cached or direct the file is a copy of FILE, and all is
 * answered; direct: what is read is not kept in memory. With WHAT:UID that user alone may use the
 * file system, as where a user mounts without allow_other. ro: mounted read-only. Prints "mounted";
 * goes, and lets go of those that wait, when its standard input ends. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_ID	   2 /* of the first name */
#define FILE_BYTES (1 << 20)

static char *names[2];
static const char *what;
static unsigned int opened, reads;
static int source = -1;
static uint64_t size = FILE_BYTES;

static struct fuse_attr attr_of(uint64_t node)
{
	bool dir = node == FUSE_ROOT_ID;

	return (struct fuse_attr){.ino = node,
				  .size = dir ? 0 : size,
				  .blksize = 4096,
				  .nlink = 1,
				  .mode = dir ? S_IFDIR | 0755 : S_IFREG | 0755};
}

static void reply(int fd, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + len), .error = error, .unique = unique};
	struct iovec parts[2] = {{&head, sizeof(head)}, {(void *)(uintptr_t)data, len}};

	(void)!writev(fd, parts, len ? 2 : 1);
}

static void read_source(int fd, const struct fuse_in_header *in, const struct fuse_read_in *r)
{
	static char bytes[1 << 16];
	ssize_t n;

	if (!strcmp(what, "lock") && reads++ < 2)
		reply(fd, in->unique, -EIO, NULL, 0);
	if (source < 0)
		return;
	n = pread(source, bytes, r->size < sizeof(bytes) ? r->size : sizeof(bytes),
		  (off_t)r->offset);
	reply(fd, in->unique, n < 0 ? -EIO : 0, bytes, n < 0 ? 0 : (size_t)n);
}

static void lookup(int fd, const struct fuse_in_header *in, const char *wanted)
{
	struct fuse_entry_out out = {0};

	for (uint64_t i = 0; i < 2; i++)
		if (names[i] && !strcmp(wanted, names[i]))
			out = (struct fuse_entry_out){.nodeid = FILE_ID + i,
						      .attr = attr_of(FILE_ID + i)};
	if (out.nodeid)
		reply(fd, in->unique, 0, &out, sizeof(out));
	else
		reply(fd, in->unique, -ENOENT, NULL, 0);
}

static void serve(int fd, const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = 31,
					   .max_readahead = 4096,
					   .max_write = 4096};
	const struct fuse_attr_out attr = {.attr = attr_of(in->nodeid)};
	const struct fuse_open_out open = {.open_flags = strcmp(what, "direct") ? 0
										: FOPEN_DIRECT_IO};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(fd, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		lookup(fd, in, arg);
		break;
	case FUSE_GETATTR:
		if (in->nodeid == FUSE_ROOT_ID || !opened || strcmp(what, "stat"))
			reply(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		if (!opened++ || strcmp(what, "open"))
			reply(fd, in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_OPENDIR:
		reply(fd, in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		reply(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_READ:
		read_source(fd, in, arg);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fd, in->unique, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[1 << 17];
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
	char options[128], *user;
	ssize_t n;

	if (argc < 4)
		return 2;
	names[0] = strtok(argv[2], ",");
	names[1] = strtok(NULL, ",");
	what = argv[3];
	user = strchr(argv[3], ':');
	if (user)
		*user++ = 0;
	if (argc > 4) {
		source = open(argv[4], O_RDONLY | O_CLOEXEC);
		size = (uint64_t)lseek(source, 0, SEEK_END);
	}
	fds[0].fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%s,group_id=%s%s",
		 fds[0].fd, user ? user : "0", user ? user : "0", user ? "" : ",allow_other");
	if (fds[0].fd < 0 || mount("stuck", argv[1], "fuse",
				   MS_NOSUID | MS_NODEV | (argc > 5 ? MS_RDONLY : 0), options)) {
		fprintf(stderr, "stuck: %s: %s\n", argv[1], strerror(errno));
		return 3;
	}
	puts("mounted");
	fflush(stdout);
	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		n = read(fds[0].fd, request, sizeof(request));
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			serve(fds[0].fd, (const struct fuse_in_header *)request,
			      request + sizeof(struct fuse_in_header));
	}
	umount2(argv[1], MNT_DETACH);
	return 0;
}

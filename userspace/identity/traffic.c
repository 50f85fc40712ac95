/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/traffic.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/number.h"
#include "userspace/base/proc_file.h"

#define IO_BYTES   1024
#define SNMP_BYTES 8192
#define DEV_BYTES  16384

/* Marks the number of a process whose namespace is unknown. Inode numbers of namespaces have 32
 * bits. */
#define PROCESS_ALONE (1ull << 63)

/* Counters of an InfiniBand port: file below ports/N, and the field to which it is added. */
static const struct {
	const char *file;
	size_t field;
} traffic_counters[] = {
	{"counters/port_rcv_errors", offsetof(struct traffic_link, errors)},
	{"counters/symbol_error", offsetof(struct traffic_link, errors)},
	{"counters/port_xmit_discards", offsetof(struct traffic_link, dropped)},
	{"counters/link_downed", offsetof(struct traffic_link, downs)},
	{"counters/port_xmit_wait", offsetof(struct traffic_link, waits)},
	{"hw_counters/packet_seq_err", offsetof(struct traffic_link, rdma_resent)},
	{"hw_counters/local_ack_timeout_err", offsetof(struct traffic_link, rdma_resent)},
};

/* ---- /proc/PID ------------------------------------------------------------------------------- */

/* Reads the number after "KEY: " at the beginning of a line. */
static int traffic_number(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && !strncmp(line + len, ": ", 2))
			return sscanf(line + len + 2, "%" SCNu64, ret) == 1 ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

int traffic_reads(const char *root, pid_t pid, struct traffic_reads *ret)
{
	char text[IO_BYTES];
	ssize_t n = proc_slurp(root, pid, "io", text, sizeof(text));

	if (n < 0)
		return (int)n;
	return traffic_number(text, "rchar", &ret->calls) ||
			       traffic_number(text, "read_bytes", &ret->storage)
		       ? -EBADMSG
		       : 0;
}

uint64_t traffic_namespace(const char *root, pid_t pid)
{
	char path[PROC_PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/proc/%d/ns/net", root, (int)pid);

	if (n < 0 || (size_t)n >= sizeof(path) || stat(path, &st))
		return PROCESS_ALONE | (uint32_t)pid;
	return st.st_ino;
}

/* Finds the columns of two lines that begin with "Tcp: ": names, and below them numbers. */
static void traffic_tcp(char *text, struct traffic_network *ret)
{
	char *names = strstr(text, "\nTcp: "), *numbers, *at = NULL, *to = NULL;
	int found = 0;

	numbers = names ? strstr(names + 1, "\nTcp: ") : NULL;
	if (!numbers)
		return;
	*numbers++ = '\0';
	numbers[strcspn(numbers, "\n")] = '\0';
	names = strtok_r(names + 1, " ", &at);
	numbers = strtok_r(numbers, " ", &to);
	for (; names && numbers;
	     names = strtok_r(NULL, " ", &at), numbers = strtok_r(NULL, " ", &to)) {
		if (!strcmp(names, "OutSegs"))
			found += sscanf(numbers, "%" SCNu64, &ret->sent) == 1;
		else if (!strcmp(names, "RetransSegs"))
			found += sscanf(numbers, "%" SCNu64, &ret->resent) == 1;
	}
	ret->tcp = found == 2;
}

/* Parses a line of /proc/PID/net/dev: NAME: followed by 8 numbers of received packets (bytes,
 * packets, errors, dropped...) and 8 of sent ones. */
static bool traffic_interface(char *line, struct traffic_link *ret)
{
	char *colon = strchr(line, ':');
	uint64_t rx_errors, rx_dropped, tx_errors, tx_dropped;

	if (!colon)
		return false;
	*colon++ = '\0';
	line += strspn(line, " ");
	if (sscanf(colon,
		   "%*u %*u %" SCNu64 " %" SCNu64 " %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
		   &rx_errors, &rx_dropped, &tx_errors, &tx_dropped) != 4)
		return false;
	*ret = (struct traffic_link){.dropped = rx_dropped + tx_dropped,
				     .errors = rx_errors + tx_errors};
	snprintf(ret->name, sizeof(ret->name), "%s", line);
	return true;
}

void traffic_network(const char *root, pid_t pid, struct traffic_network *ret)
{
	char text[DEV_BYTES], *next;

	*ret = (struct traffic_network){.tcp = false};
	if (proc_slurp(root, pid, "net/snmp", text, SNMP_BYTES) > 0)
		traffic_tcp(text, ret);
	if (proc_slurp(root, pid, "net/dev", text, sizeof(text)) <= 0)
		return;
	for (char *line = text; *line && ret->nlinks < TRAFFIC_INTERFACES; line = next) {
		next = strchr(line, '\n');
		if (!next) /* the rest of the line was not read */
			return;
		*next++ = '\0';
		ret->nlinks += traffic_interface(line, &ret->link[ret->nlinks]);
	}
}

/* ---- InfiniBand ------------------------------------------------------------------------------ */

static void traffic_counter(int ports, const char *port, const char *file, uint64_t *sum)
{
	char path[300], text[32];
	uint64_t value;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.40s/%s", port, file);
	fd = openat(ports, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = proc_read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%" SCNu64, &value) == 1)
		*sum += value;
}

/* Reads the ports of one device. Returns the number of links in ret. */
static uint32_t traffic_device(const char *root, const char *device, struct traffic_link *ret,
			       uint32_t n)
{
	char path[PROC_PATH_MAX];
	const struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%.64s/ports", root, device);
	d = opendir(path);
	while (d && n < TRAFFIC_PORTS && (e = readdir(d))) {
		struct traffic_link *l = &ret[n];

		if (proc_number(e->d_name) < 0)
			continue;
		*l = (struct traffic_link){.dropped = 0};
		snprintf(l->name, sizeof(l->name), "%.15s/%.7s", device, e->d_name);
		for (size_t i = 0; i < sizeof(traffic_counters) / sizeof(traffic_counters[0]); i++)
			traffic_counter(dirfd(d), e->d_name, traffic_counters[i].file,
					(void *)((char *)l + traffic_counters[i].field));
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

uint32_t traffic_ports(const char *root, struct traffic_link ret[TRAFFIC_PORTS])
{
	char path[PROC_PATH_MAX];
	const struct dirent *e;
	uint32_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband", root);
	d = opendir(path);
	while (d && n < TRAFFIC_PORTS && (e = readdir(d))) {
		if (*e->d_name != '.')
			n = traffic_device(root, e->d_name, ret, n);
	}
	if (d)
		closedir(d);
	return n;
}

/* ---- growth ---------------------------------------------------------------------------------- */

static const struct traffic_link *traffic_link_named(const struct traffic_network *of,
						     const char *name)
{
	for (uint32_t i = 0; i < of->nlinks; i++) {
		if (!strcmp(of->link[i].name, name))
			return &of->link[i];
	}
	return NULL;
}

/* Adds the growth of the counts of a link. Returns the number of its failures. */
static uint64_t traffic_link_grown(const struct traffic_link *before,
				   const struct traffic_link *now, struct gp_traffic *ret)
{
	uint64_t dropped = more_than(now->dropped, before->dropped);
	uint64_t errors = more_than(now->errors, before->errors);
	uint64_t downs = more_than(now->downs, before->downs);
	uint64_t resent = more_than(now->rdma_resent, before->rdma_resent);

	ret->dropped += dropped;
	ret->errors += errors;
	ret->downs += downs;
	ret->rdma_resent += resent;
	ret->waits += more_than(now->waits, before->waits);
	ret->flags |= GP_TRAFFIC_LINKS;
	return dropped + errors + downs + resent;
}

void traffic_network_grown(const struct traffic_network *before, const struct traffic_network *now,
			   struct gp_traffic *ret)
{
	uint64_t most = 0;

	if (before->tcp && now->tcp) {
		ret->sent += more_than(now->sent, before->sent);
		ret->resent += more_than(now->resent, before->resent);
		ret->flags |= GP_TRAFFIC_TCP;
	}
	for (uint32_t i = 0; i < now->nlinks; i++) {
		const struct traffic_link *l = &now->link[i];
		const struct traffic_link *old = traffic_link_named(before, l->name);
		uint64_t failures = old ? traffic_link_grown(old, l, ret) : 0;

		if (failures <= most)
			continue;
		most = failures;
		snprintf(ret->link, sizeof(ret->link), "%s", l->name);
	}
}

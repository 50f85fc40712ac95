/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.h - reads how many bytes a process has read (/proc/PID/io), how many TCP segments its
 * network namespace has sent again, and which failures interfaces (/proc/PID/net) and InfiniBand
 * ports (/sys/class/infiniband) had. All counts only grow.
 *
 * Call these functions in a helper process (helper.h): /proc/PID/io blocks while the process is in
 * execve() and closes files, and ports are read from their firmware. root: "", or the folder that
 * contains proc and sys (--root). */
#ifndef IDENTITY_TRAFFIC_H
#define IDENTITY_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct traffic_reads {
	uint64_t storage; /* bytes that had to be fetched from storage */
	/* bytes returned by calls like read(2), also from the page cache, pipes and sockets */
	uint64_t calls;
};

struct traffic_link {  /* an interface or an InfiniBand port */
	char name[24]; /* "eth0", "mlx5_0/1" */
	uint64_t dropped, errors, downs, rdma_resent, waits; /* see struct gp_traffic */
};

/* Limits of the interfaces of a namespace and of the ports of the machine; further ones are not
 * counted. */
#define TRAFFIC_INTERFACES 24
#define TRAFFIC_PORTS	   16

struct traffic_network {
	uint64_t id; /* identifies the network namespace */
	bool tcp;    /* sent and resent are known */
	uint64_t sent, resent;
	uint32_t nlinks;
	struct traffic_link link[TRAFFIC_INTERFACES + TRAFFIC_PORTS];
};

/* Return 0 or -errno; -EBADMSG: unexpected content. */
int traffic_reads(const char *root, pid_t pid, struct traffic_reads *ret);
/* Returns a number that identifies the network namespace of a process; if that cannot be found
 * out, a number of this process alone. */
uint64_t traffic_namespace(const char *root, pid_t pid);
/* Reads the counts of the network namespace of a process. Does not set ret->id. */
void traffic_network(const char *root, pid_t pid, struct traffic_network *ret);
/* Reads the InfiniBand ports of the machine. Returns their number. */
uint32_t traffic_ports(const char *root, struct traffic_link ret[TRAFFIC_PORTS]);

/* Adds the growth of the counts of a network to *ret. Links are compared by name; a link that is
 * missing in before is not counted. */
void traffic_network_grown(const struct traffic_network *before, const struct traffic_network *now,
			   struct gp_traffic *ret);

#endif

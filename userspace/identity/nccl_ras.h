/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_ras.h - reads what NCCL's RAS service says about a job: text, which NCCL sends since 2.24,
 * or JSON, since 2.28.7. The reply and the variables of the environment are hostile: any program
 * may listen on that port. Pure. */
#ifndef IDENTITY_NCCL_RAS_H
#define IDENTITY_NCCL_RAS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The request to the RAS service of NCCL. The service answers each line, the last one with the
 * state of the job, and closes the connection. NCCL before 2.28.7 rejects the third line and writes
 * the state as text. */
#define NCCL_RAS_REQUEST "CLIENT PROTOCOL 2\nTIMEOUT 2\nSET FORMAT json\nSTATUS\n"
/* Limit of bytes read from a reply; replies for jobs of some thousand ranks are longer. */
#define NCCL_RAS_REPLY_MAX (4u << 20)

/* Addresses at which the service listens, to be tried in this order */
struct nccl_ras_address {
	uint32_t count;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at[2];
};

/* Reads a value of NCCL_RAS_ADDR: "ADDRESS:PORT", "[ADDRESS]:PORT" or "localhost:PORT"; NULL: not
 * set. Returns false if it is none of these: names are not looked up. */
bool nccl_ras_address(const char *text, struct nccl_ras_address *ret);

/* Finds in a reply which ranks do not answer, and which ranks have launched fewer collectives than
 * others of their communicator. Writes this to out as a short text of numbers, names of collectives
 * and host addresses, without other text of the reply. pid: pid of the process that was asked, in
 * its own pid namespace; in a JSON reply, only communicators with this process are read. Returns
 * false, and "" in out, if there are no such ranks. If the reply is cut off, the part before the
 * cut is used. */
bool nccl_ras_read(const char *reply, size_t len, uint32_t pid, char *out, size_t cap);

#endif

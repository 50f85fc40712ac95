/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's RAS service says, in the formats of NCCL 2.24 to 2.30, and what others say in its
 * place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/identity/nccl_ras.h"

#define HEAD_TEXT                                                                                  \
	"SERVER PROTOCOL 2\nOK\nERROR: Unknown command SET FORMAT json\n"                          \
	"NCCL version 2.24.3 compiled with CUDA 12.8\n\nJob summary\n===========\n\n"              \
	"Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"              \
	"    0         1         1         4         4         4   RUNNING  MISMATCH\n\n"
#define HEAD_JSON                                                                                  \
	"SERVER PROTOCOL 2\nOK\nOK\n{\n  \"nccl_version\": \"2.29.1\",\n  \"communicators\": [\n"
#define RANK(rank, pid, count)                                                                     \
	"{\"rank\": " rank ", \"host\": \"10.0.0.1\", \"pid\": " pid                               \
	", \"status\": {\"init_state\": 0}, "                                                      \
	"\"collective_counts\": {\"Broadcast\": 2, \"AllReduce\": " count ", \"Send\": " rank "}}"
#define COMM(hash, ranks, missing)                                                                 \
	"{\"hash\": \"0x" hash                                                                     \
	"\", \"secondary_hash\": \"0x1:0x2\", \"size\": 2, \"ranks\": [" ranks                     \
	"], \"missing_ranks\": [" missing "]}"
#define GONE(rank, pid, status)                                                                    \
	"{\"rank\": " rank ", \"host\": \"h\", \"pid\": " pid ", \"status\": {" status "}}"

static void test_says(void **state)
{
	static const struct {
		const char *reply, *clause;
	} rows[] = {
		/* 2.24, 2.25: one count for all collectives */
		{HEAD_TEXT
		 "Warnings\n========\n\n#0-0 (27a079b828ff1a75) MISMATCH\n"
		 "  Communicator ranks have different collective operation counts\n"
		 "  3 ranks have launched up to operation 42\n"
		 "  Rank 1 has launched up to operation 41 -- GPU 1 managed by process 7 on node 10.0.0.1\n",
		 "rank 1 (process 7 on 10.0.0.1) has launched 41 collectives, 3 of 4 ranks 42 "
		 "(communicator 27a079b828ff1a75)"},
		/* 2.26 and later */
		{HEAD_TEXT
		 "#0-0 (27) MISMATCH\n"
		 "  Communicator ranks have different status\n"
		 "  Rank 0 has status INIT -- GPU 1 managed by process 7 on node 10.0.0.1\n"
		 "  Communicator ranks have different AllReduce operation counts\n"
		 "  8 ranks have launched up to operation 42\n"
		 "  2 ranks have not launched any operations\n"
		 "  Rank 4 -- GPU 1 managed by process 8 on node 10.0.0.1\n"
		 "  Rank 5 -- [process information not found]\n",
		 "ranks 4, 5 have launched 0 AllReduce, 8 of 10 ranks 42 (communicator 27)"},
		{HEAD_TEXT
		 "Errors\n======\n\nINCOMPLETE\n  Missing communicator data from 1 job process\n"
		 "  Process 9 on node 10.0.0.2 managing GPU 5\n\n#0-0 (cf26) INCOMPLETE\n"
		 "  Missing communicator data from 1 rank\n  The missing rank: 21\n\n",
		 "rank 21 does not answer (communicator cf26)"},
		{HEAD_TEXT "#0-0 (cf26) INCOMPLETE\n  Missing communicator data from 1 rank\n"
			   "  Rank 21 -- GPU 5 managed by process 9 on node 10.0.0.2\n\n",
		 "rank 21 (process 9 on 10.0.0.2) does not answer (communicator cf26)"},
		/* 2.28.7 and later */
		{HEAD_JSON COMM("ab", RANK("0", "7", "42") "," RANK("1", "8", "41"), "") "]}",
		 "rank 1 (process 8 on 10.0.0.1) has launched 41 AllReduce, 1 of 2 ranks 42 "
		 "(communicator ab)"},
		{HEAD_JSON COMM("ab", RANK("0", "7", "42") "," RANK("1", "8", "42"), "") "]}",
		 "all 2 ranks have launched 42 AllReduce (communicator ab)"},
		{HEAD_JSON COMM(
			 "ab", RANK("0", "7", "42"),
			 GONE("1", "9", "\"unresponsive\": true, \"considered_dead\": false")) "]}",
		 "rank 1 (process 9 on h) does not answer (communicator ab)"},
		{HEAD_JSON COMM(
			 "ab", RANK("0", "7", "42"),
			 GONE("1", "9", "\"unresponsive\": false, \"considered_dead\": true")) "]}",
		 "rank 1 (process 9 on h) is dead (communicator ab)"},
		/* of another job on the machine: only the communicators of process 7 count */
		{HEAD_JSON COMM("cd", RANK("0", "17", "9") "," RANK("1", "18", "1"), "") "]}", ""},
		{HEAD_JSON COMM("cd", RANK("0", "17", "9") "," RANK("1", "18", "1"), "") "," COMM(
			 "ab", RANK("0", "7", "5") "," RANK("1", "18", "6"), "") "]}",
		 "rank 0 (process 7 on 10.0.0.1) has launched 5 AllReduce, 1 of 2 ranks 6 "
		 "(communicator ab)"},
		/* cut off behind the first communicator */
		{HEAD_JSON COMM("ab", RANK("0", "7", "42") "," RANK("1", "8", "41"), "") ",{\"ha",
		 "rank 1 (process 8 on 10.0.0.1) has launched 41 AllReduce, 1 of 2 ranks 42 "
		 "(communicator ab)"},
		/* texts of others are dropped, numbers are bounded */
		{HEAD_JSON COMM(
			 "ab\\u001b",
			 RANK("0", "7", "99999999999999999999999") "," RANK("1", "8", "41"),
			 GONE("3", "9", "\"unresponsive\": true, \"host\": \"\033[31m<b>\"")) "]}",
		 "rank 3 (process 9 on h) does not answer, rank 1 (process 8 on 10.0.0.1) has launched "
		 "41 AllReduce, 1 of 2 ranks 1844674407370955161"},
		{HEAD_TEXT, ""},
		{"", ""},
		{"{", ""},
		{"{[[[[[[[[[[[[[[[[[[[[[[[[", ""},
		{"}}]]", ""},
		{"HTTP/1.1 400 Bad Request\r\n\r\n", ""},
	};
	char out[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool any = nccl_ras_read(rows[i].reply, strlen(rows[i].reply), 7, out, sizeof(out));

		assert_string_equal(out, rows[i].clause);
		assert_int_equal(any, *rows[i].clause != 0);
	}
}

static void test_address(void **state)
{
	struct nccl_ras_address a;

	(void)state;
	assert_true(nccl_ras_address(NULL, &a));
	assert_int_equal(a.count, 2);
	assert_int_equal(ntohs(a.at[0].v4.sin_port), 28028);
	assert_int_equal(ntohl(a.at[0].v4.sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_equal(a.at[1].any.sa_family, AF_INET6);
	assert_true(nccl_ras_address("0.0.0.0:99", &a));
	assert_int_equal(ntohl(a.at[0].v4.sin_addr.s_addr), INADDR_LOOPBACK);
	assert_true(nccl_ras_address("[::]:99", &a));
	assert_true(IN6_IS_ADDR_LOOPBACK(&a.at[0].v6.sin6_addr));
	assert_int_equal(ntohs(a.at[0].v6.sin6_port), 99);
	for (const char *const *bad =
		     (const char *const[]){"", ":", ":1", "[", "[]:1", "host.example:1",
					   "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
					   "127.0.0.1:65536", "127.0.0.1:1x", "[127.0.0.1]:1",
					   "::1:1", NULL};
	     *bad; bad++)
		assert_false(nccl_ras_address(*bad, &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_says),
		cmocka_unit_test(test_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

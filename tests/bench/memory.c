/* SPDX-License-Identifier: Apache-2.0 */
/* memory - what the model keeps of ranks that train.
 *
 * memory RANKS STEP_NS HOURS [compiled | LOOPS]: first a line "all BYTES", then one "ADDRESS BYTES"
 * for each place in the program that memory was asked for from; of all ranks together, their job's
 * included, and with what the C library needs beside each piece. What a model needs without any
 * rank is left out. */
#include "tests/unit/heap.h"
#include "tests/unit/loop_feed.h"

int main(int argc, char **argv)
{
	static struct loop_feed f;
	struct model *m = model_new(NULL, NULL);
	size_t before[HEAP_SITES], all;

	if (argc < 4 || !m || atoi(argv[1]) < 1 || strtoull(argv[2], NULL, 10) < 1000000) {
		fprintf(stderr, "usage: memory RANKS STEP_NS HOURS [compiled | LOOPS]\n");
		return 2;
	}
	loop_open(&f, m, 0, 0, "");
	for (int i = 0; i < HEAP_SITES; i++)
		before[i] = heap.sites[i].bytes;
	all = heap.bytes;
	loop_open(&f, m, (uint32_t)atoi(argv[1]), strtoull(argv[2], NULL, 10), "bench");
	f.compiled = argc > 4 && !strcmp(argv[4], "compiled");
	f.threads = argc > 4 ? (uint32_t)atoi(argv[4]) : 0;
	loop_run(&f, strtoull(argv[3], NULL, 10) * 3600 * LOOP_S);
	if (f.refused)
		return 1;
	printf("all %zu\n", heap.bytes - all);
	for (int i = 0; i < HEAP_SITES; i++) {
		if (heap.sites[i].bytes > before[i])
			printf("%#zx %zu\n", (size_t)heap.sites[i].caller,
			       heap.sites[i].bytes - before[i]);
	}
	model_free(m);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - what a program has on its heap, by who asked for it, and a heap that has no more. For
 * one file of a program that is linked with HEAP_WRAP (Makefile); what libraries allocate for
 * themselves is not seen. */
#ifndef TESTS_UNIT_HEAP_H
#define TESTS_UNIT_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HEAP_SITES 1024 /* a power of two */

struct heap_head { /* before each piece */
	uint32_t site;
	uint32_t unused;
	size_t bytes;
};

static struct heap {
	size_t bytes;	/* with what the C library needs beside each piece */
	uint64_t calls; /* ever */
	uint64_t fail;	/* the first call that fails; 0: none */
	uint64_t fails; /* so many do */
	struct {
		uintptr_t caller;
		size_t bytes;
	} sites[HEAP_SITES];
} heap;

void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *p);

/* glibc: a word before each piece, in steps of two, two at least. */
static size_t heap_cost(size_t size)
{
	size_t cost = (size + sizeof(size_t) + 15) & ~(size_t)15;

	return cost < 32 ? 32 : cost;
}

static uint32_t heap_site(void *caller)
{
	uint32_t i = (uint32_t)((uintptr_t)caller * 2654435761u >> 7) % HEAP_SITES;

	while (heap.sites[i].caller && heap.sites[i].caller != (uintptr_t)caller)
		i = (i + 1) % HEAP_SITES;
	heap.sites[i].caller = (uintptr_t)caller;
	return i;
}

static void heap_count(const struct heap_head *h, int sign)
{
	size_t cost = heap_cost(h->bytes);

	heap.bytes += sign > 0 ? cost : -cost;
	heap.sites[h->site].bytes += sign > 0 ? cost : -cost;
}

static void *heap_take(struct heap_head *have, size_t size, void *caller)
{
	struct heap_head *h;

	heap.calls++;
	if ((heap.fail && heap.calls >= heap.fail && heap.calls - heap.fail < heap.fails) ||
	    size > SIZE_MAX / 2)
		return NULL;
	if (have)
		heap_count(have, -1);
	h = __real_realloc(have, sizeof(*h) + size);
	if (!h)
		return NULL;
	*h = (struct heap_head){.site = heap_site(caller), .bytes = size};
	heap_count(h, 1);
	return h + 1;
}

void *__wrap_malloc(size_t size)
{
	return heap_take(NULL, size, __builtin_return_address(0));
}

void *__wrap_calloc(size_t count, size_t size)
{
	void *p = size && count > SIZE_MAX / 2 / size
			  ? NULL
			  : heap_take(NULL, count * size, __builtin_return_address(0));

	return p ? memset(p, 0, count * size) : NULL;
}

void *__wrap_realloc(void *p, size_t size)
{
	return heap_take(p ? (struct heap_head *)p - 1 : NULL, size, __builtin_return_address(0));
}

char *__wrap_strdup(const char *text)
{
	void *p = heap_take(NULL, strlen(text) + 1, __builtin_return_address(0));

	return p ? memcpy(p, text, strlen(text) + 1) : NULL;
}

void __wrap_free(void *p)
{
	struct heap_head *h = p ? (struct heap_head *)p - 1 : NULL;

	if (h)
		heap_count(h, -1);
	__real_free(h);
}

#endif

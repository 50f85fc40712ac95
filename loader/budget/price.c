/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "loader/budget/price.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define PRICE_TAG UINT64_MAX
#define BATCHES	  9
#define WARM_HITS 16 /* the first hit of a nop5 site makes the kernel rewrite it */
/* duration of a batch; with 250 us the costs are the same within 3 % */
#define SPEND_NS  100000
#define BATCH_MAX 400
#define SHAPES	  3

/* Functions to measure, one for each class of the first instruction. They must be in an executable
 * file, as uprobes need one. */
#if defined(__x86_64__)
#define BODY_nop5                                                                                  \
	".byte 0x0f,0x1f,0x44,0x00,0x00\n\tret" /* as bytes, since an assembler may choose a       \
						   shorter nopl */
#define BODY_emulated "push %rbp\n\tpop %rbp\n\tret"
#define BODY_stepped  "xor %eax,%eax\n\tret"
#elif defined(__aarch64__)
#define BODY_nop5     "nop\n\tret"
#define BODY_emulated "b 1f\n1:\tret"
#define BODY_stepped  "mov x9, x10\n\tret"
#endif

#define SITE(name)                                                                                 \
	void price_site_##name(void);                                                              \
	asm(".pushsection .text.price,\"ax\",@progbits\n"                                          \
	    ".balign 64\n"                                                                         \
	    ".globl price_site_" #name "\n"                                                        \
	    ".hidden price_site_" #name "\n"                                                       \
	    ".type price_site_" #name ", %function\n"                                              \
	    "price_site_" #name ":\n\t" BODY_##name "\n"                                           \
						    ".size price_site_" #name                      \
						    ", . - price_site_" #name "\n"                 \
						    ".popsection\n")

SITE(nop5);
SITE(emulated);
SITE(stepped);

struct shape {
	enum gp_insn insn;
	void (*call)(void);
};

static const struct shape shapes[SHAPES] = {
	{GP_INSN_nop5, price_site_nop5},
	{GP_INSN_emulated, price_site_emulated},
	{GP_INSN_stepped, price_site_stepped},
};

/* Returns the file offset of an address in /proc/self/exe; 0 when the address is not in it (offset
 * 0 is the ELF header, never code). */
static uint64_t price_file_offset(uintptr_t address)
{
	const ElfW(Phdr) *ph = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	size_t n = getauxval(AT_PHNUM);
	uintptr_t base = 0;

	for (size_t i = 0; i < n; i++)
		if (ph[i].p_type == PT_PHDR)
			base = (uintptr_t)ph - ph[i].p_vaddr;
	for (size_t i = 0; i < n; i++) {
		uintptr_t start = base + ph[i].p_vaddr;

		if (ph[i].p_type == PT_LOAD && address >= start && address < start + ph[i].p_filesz)
			return address - start + ph[i].p_offset;
	}
	return 0;
}

static uint64_t price_hits_ns(const struct shape *shape, unsigned int hits)
{
	uint64_t start = clock_thread_ns();

	for (unsigned int i = 0; i < hits; i++)
		shape->call();
	return clock_thread_ns() - start;
}

static int price_sample_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint32_t price_shape_ns(const struct shape *shape)
{
	uint64_t samples[BATCHES], one = price_hits_ns(shape, WARM_HITS) / WARM_HITS + 1;
	unsigned int hits = (unsigned int)(SPEND_NS / one);

	hits = hits < 4 ? 4 : hits > BATCH_MAX ? BATCH_MAX : hits;
	for (int i = 0; i < BATCHES; i++)
		samples[i] = price_hits_ns(shape, hits) / hits;
	qsort(samples, BATCHES, sizeof(samples[0]), price_sample_cmp);
	return samples[BATCHES / 2] ? (uint32_t)samples[BATCHES / 2] : 1;
}

static void price_shapes_measure(uint32_t prices[4], const struct attach_site *sites)
{
	for (int i = 0; i < SHAPES; i++)
		if (!sites[i].error)
			prices[shapes[i].insn] = price_shape_ns(&shapes[i]);
}

void price_measure(struct price *ret, const struct kernel *k, struct attach *at)
{
	const struct bpf_program *empty = k->program[KERNEL_EMPTY];
	struct attach_site sites[SHAPES] = {0};
	struct attach_set set = {.tag = PRICE_TAG, .prog = empty};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	*ret = (struct price){0};
	if (fd < 0)
		return;
	set.fd = fd;
	for (int i = 0; i < SHAPES; i++)
		sites[i].offset = price_file_offset((uintptr_t)shapes[i].call);
	if (!attach_sites(at, &set, sites, SHAPES))
		price_shapes_measure(ret->enter_ns, sites);
	set.returns = true;
	if (!attach_sites(at, &set, sites, SHAPES))
		price_shapes_measure(ret->return_ns, sites);
	close(fd);
	log_debug(
		"price of an empty hit, ns: nop5 %u, emulated %u, stepped %u; with return %u, %u, %u",
		ret->enter_ns[GP_INSN_nop5], ret->enter_ns[GP_INSN_emulated],
		ret->enter_ns[GP_INSN_stepped], ret->return_ns[GP_INSN_nop5],
		ret->return_ns[GP_INSN_emulated], ret->return_ns[GP_INSN_stepped]);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "loader/budget/hit_cost.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define HIT_COST_TAG UINT64_MAX
#define BATCHES	     9
/* Hits before measuring, as the first hit of a nop5 site makes the kernel rewrite the site */
#define WARM_HITS 16
/* Duration of a batch of hits. Batches of 250 us give the same costs within 3 %. */
#define SPEND_NS  100000
#define BATCH_MAX 400
#define SHAPES	  3

/* Functions to measure, one for each class of the first instruction. They must be in an executable
 * file, as uprobes need one. */
#if defined(__x86_64__)
/* The nop is written as bytes, since an assembler may choose a shorter one. */
#define BODY_nop5     ".byte 0x0f,0x1f,0x44,0x00,0x00\n\tret"
#define BODY_emulated "push %rbp\n\tpop %rbp\n\tret"
#define BODY_stepped  "xor %eax,%eax\n\tret"
#elif defined(__aarch64__)
#define BODY_nop5     "nop\n\tret"
#define BODY_emulated "b 1f\n1:\tret"
#define BODY_stepped  "mov x9, x10\n\tret"
#endif

#define SITE(name)                                                                                 \
	void hit_cost_site_##name(void);                                                           \
	asm(".pushsection .text.hit_cost,\"ax\",@progbits\n"                                       \
	    ".balign 64\n"                                                                         \
	    ".globl hit_cost_site_" #name "\n"                                                     \
	    ".hidden hit_cost_site_" #name "\n"                                                    \
	    ".type hit_cost_site_" #name ", %function\n"                                           \
	    "hit_cost_site_" #name ":\n\t" BODY_##name "\n"                                        \
						       ".size hit_cost_site_" #name                \
						       ", . - hit_cost_site_" #name "\n"           \
						       ".popsection\n")

SITE(nop5);
SITE(emulated);
SITE(stepped);

struct shape {
	enum gp_insn insn;
	void (*call)(void);
};

static const struct shape shapes[SHAPES] = {
	{GP_INSN_nop5, hit_cost_site_nop5},
	{GP_INSN_emulated, hit_cost_site_emulated},
	{GP_INSN_stepped, hit_cost_site_stepped},
};

/* Returns the file offset of an address in /proc/self/exe; 0 when the address is not in it (offset
 * 0 is the ELF header, never code). */
static uint64_t hit_cost_file_offset(uintptr_t address)
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

static uint64_t hit_cost_hits_ns(const struct shape *shape, unsigned int hits)
{
	uint64_t start = clock_thread_ns();

	for (unsigned int i = 0; i < hits; i++)
		shape->call();
	return clock_thread_ns() - start;
}

static int hit_cost_sample_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint32_t hit_cost_shape_ns(const struct shape *shape)
{
	uint64_t samples[BATCHES], one = hit_cost_hits_ns(shape, WARM_HITS) / WARM_HITS + 1;
	unsigned int hits = (unsigned int)(SPEND_NS / one);

	hits = hits < 4 ? 4 : hits > BATCH_MAX ? BATCH_MAX : hits;
	for (int i = 0; i < BATCHES; i++)
		samples[i] = hit_cost_hits_ns(shape, hits) / hits;
	qsort(samples, BATCHES, sizeof(samples[0]), hit_cost_sample_cmp);
	return samples[BATCHES / 2] ? (uint32_t)samples[BATCHES / 2] : 1;
}

static void hit_cost_shapes_measure(uint32_t costs[4], const struct attach_site *sites)
{
	for (int i = 0; i < SHAPES; i++)
		if (!sites[i].error)
			costs[shapes[i].insn] = hit_cost_shape_ns(&shapes[i]);
}

void hit_cost_measure(struct hit_cost *ret, const struct kernel *k, struct attach *at)
{
	const struct bpf_program *empty = k->program[KERNEL_EMPTY];
	struct attach_site sites[SHAPES] = {0};
	struct attach_set set = {.tag = HIT_COST_TAG, .prog = empty};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	*ret = (struct hit_cost){0};
	if (fd < 0)
		return;
	set.fd = fd;
	for (int i = 0; i < SHAPES; i++)
		sites[i].offset = hit_cost_file_offset((uintptr_t)shapes[i].call);
	if (!attach_sites(at, &set, sites, SHAPES))
		hit_cost_shapes_measure(ret->enter_ns, sites);
	set.returns = true;
	if (!attach_sites(at, &set, sites, SHAPES))
		hit_cost_shapes_measure(ret->return_ns, sites);
	close(fd);
	log_debug(
		"cost of an empty hit, ns: nop5 %u, emulated %u, stepped %u; with return %u, %u, %u",
		ret->enter_ns[GP_INSN_nop5], ret->enter_ns[GP_INSN_emulated],
		ret->enter_ns[GP_INSN_stepped], ret->return_ns[GP_INSN_nop5],
		ret->return_ns[GP_INSN_emulated], ret->return_ns[GP_INSN_stepped]);
}

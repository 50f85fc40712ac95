/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_table.c - checks whether bytes are a PJRT table: size, version, functions. */
#include <string.h>

#include "bpf/gp_abi.h"
#include "loader/site/pjrt.h"

#define FUNCTIONS_MIN 60 /* tables have more; data that looks like one by chance has fewer */
#define MINOR_FIRST   28 /* no field has moved since this version, except in MINOR_BREACH */
#define MINOR_BREACH  56 /* this version inserted a field in the middle; 0.57 removed it */

/* Sizes of the table by version, as seen in released plugins and headers; it only grows. */
static const struct {
	int minor;
	uint32_t size;
} sizes[] = {{0, PJRT_SIZE_MIN}, {55, 840},   {58, 848},   {60, 872},  {67, 936},
	     {69, 944},		 {70, 944},   {79, 984},   {81, 984},  {89, 1064},
	     {95, 1080},	 {103, 1120}, {110, 1144}, {116, 1144}};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static bool pjrt_table_size_fits(uint64_t size, int minor)
{
	uint64_t least = 0, most = PJRT_SIZE_MAX;

	for (size_t i = 0; i < SIZES; i++) {
		if (sizes[i].minor <= minor)
			least = sizes[i].size;
		if (sizes[i].minor >= minor && most > sizes[i].size)
			most = sizes[i].size;
	}
	return size >= least && size <= most && size % 8 == 0;
}

bool pjrt_head_parse(const uint8_t head[PJRT_HEAD_BYTES], struct pjrt_table *ret)
{
	memcpy(&ret->size, head, sizeof(ret->size));
	memcpy(&ret->version_size, head + 16, sizeof(ret->version_size));
	memcpy(&ret->major, head + 32, sizeof(ret->major));
	memcpy(&ret->minor, head + 36, sizeof(ret->minor));
	return ret->version_size == PJRT_VERSION_SIZE;
}

int pjrt_head_check(const struct pjrt_table *t)
{
	if (t->version_size != PJRT_VERSION_SIZE)
		return -GP_TABLE_garbage;
	if (t->major)
		return -GP_TABLE_major;
	if (t->minor < MINOR_FIRST)
		return -GP_TABLE_old;
	if (t->minor == MINOR_BREACH)
		return -GP_TABLE_breach;
	return pjrt_table_size_fits(t->size, t->minor) ? 0 : -GP_TABLE_size;
}

int pjrt_table_check(const struct pjrt_table *t, pjrt_offset_fn *find_offset, void *ctx,
		     struct pjrt_slots *ret, size_t *ret_here)
{
	struct pjrt_slots slots = {.minor = t->minor};
	int err = pjrt_head_check(t);
	size_t here = 0;

	if (err)
		return err;
	slots.size = (uint32_t)t->size;
	for (size_t i = PJRT_HEAD_BYTES / 8; i < t->size / 8; i++)
		here += t->slot[i] && find_offset(ctx, t->slot[i], &slots.offset[i]);
	*ret_here = here;
	if (here <= FUNCTIONS_MIN)
		return -GP_TABLE_garbage;
	*ret = slots;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* elf_read.c - reads bytes of an opened ELF file, and converts its addresses and offsets. */
#include <errno.h>
#include <unistd.h>

#include "loader/elf/elf_private.h"

bool elf_holds(const struct elf_file *ef, uint64_t offset, uint64_t len)
{
	return offset <= ef->size && len <= ef->size - offset;
}

int elf_read_exactly(const struct elf_file *ef, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;
	ssize_t got;

	if (!elf_holds(ef, offset, len))
		return -EBADMSG;
	if (++*ef->reads > ELF_READS_MAX)
		return -E2BIG;
	while (done < len) {
		got = pread(ef->fd, (char *)buf + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno != EINTR)
			return -errno;
		if (!got) /* the file was truncated after it was opened */
			return -EBADMSG;
		done += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

bool elf_offset_of(const struct elf_file *ef, uint64_t vaddr, bool executable, uint64_t *ret)
{
	for (size_t i = 0; i < ef->segments_count; i++) {
		const struct elf_segment *s = &ef->segments[i];

		if ((executable && !s->executable) || vaddr < s->vaddr ||
		    vaddr - s->vaddr >= s->size)
			continue;
		*ret = s->offset + (vaddr - s->vaddr);
		return true;
	}
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* elf_file.c - opens an ELF file and keeps its segments, dynamic section and string tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "loader/elf/elf_private.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

#define SEGMENT_HEADERS_MAX 1024
#define SECTIONS_MAX	    (1u << 20)
#define DYNAMIC_MAX	    4096 /* limit of entries in the dynamic section */
#define BATCH		    64	 /* headers read at once */

static void elf_file_segment_add(struct elf_file *ef, const Elf64_Phdr *ph)
{
	uint64_t size = ph->p_filesz;

	if (ef->segments_count == ELF_SEGMENTS_MAX || ph->p_offset >= ef->size)
		return;
	if (size > ef->size - ph->p_offset)
		size = ef->size - ph->p_offset;
	ef->segments[ef->segments_count++] = (struct elf_segment){
		.vaddr = ph->p_vaddr,
		.offset = ph->p_offset,
		.size = size,
		.executable = ph->p_flags & PF_X,
		.writable = ph->p_flags & PF_W,
	};
}

/* Reads the segments, by which addresses in the dynamic section are converted to file offsets. */
static int elf_file_segments_read(struct elf_file *ef, const Elf64_Ehdr *header,
				  Elf64_Phdr *ret_dynamic)
{
	Elf64_Phdr batch[BATCH];
	size_t n;
	int err;

	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENT_HEADERS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < header->e_phnum; i += n) {
		n = header->e_phnum - i < BATCH ? header->e_phnum - i : BATCH;
		err = elf_read_exactly(ef, header->e_phoff + i * sizeof(batch[0]), batch,
				       n * sizeof(batch[0]));
		if (err)
			return err;
		for (size_t j = 0; j < n; j++) {
			if (batch[j].p_type == PT_LOAD)
				elf_file_segment_add(ef, &batch[j]);
			else if (batch[j].p_type == PT_DYNAMIC)
				*ret_dynamic = batch[j];
		}
	}
	return ef->segments_count ? 0 : -EBADMSG;
}

/* Addresses in the dynamic section */
struct dynamic_addresses {
	uint64_t symbols, strings, strings_size, entry_size, hash;
	uint64_t soname; /* offset of the soname in the string table; 0: none */
};

static void elf_file_dynamic_note(struct dynamic_addresses *a, const Elf64_Dyn *d)
{
	switch (d->d_tag) {
	case DT_SYMTAB:
		a->symbols = d->d_un.d_ptr;
		break;
	case DT_STRTAB:
		a->strings = d->d_un.d_ptr;
		break;
	case DT_STRSZ:
		a->strings_size = d->d_un.d_val;
		break;
	case DT_SYMENT:
		a->entry_size = d->d_un.d_val;
		break;
	case DT_GNU_HASH:
		a->hash = d->d_un.d_ptr;
		break;
	case DT_SONAME:
		a->soname = d->d_un.d_val;
		break;
	}
}

static int elf_file_dynamic_read(const struct elf_file *ef, const Elf64_Phdr *ph,
				 struct dynamic_addresses *a)
{
	size_t count = ph->p_filesz / sizeof(Elf64_Dyn), n;
	Elf64_Dyn batch[BATCH];
	int err;

	if (count > DYNAMIC_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < count; i += n) {
		n = count - i < BATCH ? count - i : BATCH;
		err = elf_read_exactly(ef, ph->p_offset + i * sizeof(batch[0]), batch,
				       n * sizeof(batch[0]));
		if (err)
			return err;
		for (size_t j = 0; j < n; j++) {
			if (batch[j].d_tag == DT_NULL)
				return 0;
			elf_file_dynamic_note(a, &batch[j]);
		}
	}
	return 0;
}

/* Sets t to a table if the whole table is within the file. */
static void elf_file_table_set(const struct elf_file *ef, struct elf_table *t,
			       const struct elf_table *from)
{
	struct elf_table out = *from;

	if (out.count > ELF_SYMBOLS_MAX)
		out.count = ELF_SYMBOLS_MAX;
	if (out.count && elf_holds(ef, out.symbols, out.count * sizeof(Elf64_Sym)) &&
	    out.strings_size && elf_holds(ef, out.strings, out.strings_size))
		*t = out;
}

static int elf_file_section_read(const struct elf_file *ef, const Elf64_Ehdr *header, uint64_t i,
				 Elf64_Shdr *ret)
{
	return elf_read_exactly(ef, header->e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
}

static void elf_file_section_table(const struct elf_file *ef, const Elf64_Ehdr *header,
				   uint64_t count, const Elf64_Shdr *section, struct elf_table *ret)
{
	struct elf_table t = {.symbols = section->sh_offset,
			      .count = section->sh_size / sizeof(Elf64_Sym)};
	Elf64_Shdr strings;

	if (section->sh_entsize != sizeof(Elf64_Sym) || section->sh_link >= count)
		return;
	if (elf_file_section_read(ef, header, section->sh_link, &strings) ||
	    strings.sh_type != SHT_STRTAB)
		return;
	t.strings = strings.sh_offset;
	t.strings_size = strings.sh_size;
	elf_file_table_set(ef, ret, &t);
}

/* Reads section headers only for what is found nowhere else: .symtab, and the size of .dynsym.
 * Section headers may be stripped or wrong, so nothing here is an error. */
static void elf_file_sections_read(struct elf_file *ef, const Elf64_Ehdr *header,
				   struct elf_table *ret_dynamic)
{
	uint64_t count = header->e_shnum;
	Elf64_Shdr section;

	if (!header->e_shoff || header->e_shentsize != sizeof(section))
		return;
	/* Section 0 has the number of sections if they are more than 0xff00 (e_shnum in the gABI).
	 */
	if (!count && !elf_file_section_read(ef, header, 0, &section))
		count = section.sh_size;
	if (count > SECTIONS_MAX)
		return;
	for (uint64_t i = 0; i < count && !elf_file_section_read(ef, header, i, &section); i++) {
		if (section.sh_type == SHT_SYMTAB && !ef->full.count)
			elf_file_section_table(ef, header, count, &section, &ef->full);
		else if (section.sh_type == SHT_DYNSYM && !ret_dynamic->count)
			elf_file_section_table(ef, header, count, &section, ret_dynamic);
	}
}

static void elf_file_dynamic_locate(struct elf_file *ef, const struct dynamic_addresses *a,
				    const struct elf_table *section)
{
	struct elf_table t = {.strings_size = a->strings_size};

	if (a->soname && a->soname < a->strings_size &&
	    elf_offset_of(ef, a->strings, false, &t.strings) &&
	    elf_holds(ef, t.strings, a->strings_size)) {
		ef->soname = t.strings + a->soname;
		ef->soname_room = a->strings_size - a->soname;
	}
	if (a->entry_size != sizeof(Elf64_Sym) ||
	    !elf_offset_of(ef, a->symbols, false, &t.symbols) ||
	    !elf_offset_of(ef, a->strings, false, &t.strings))
		return;
	if (!a->hash || !elf_offset_of(ef, a->hash, false, &ef->hash))
		ef->hash = 0;
	t.count = section->symbols == t.symbols ? section->count : 0;
	if (!t.count)
		t.count = elf_hash_count(ef);
	elf_file_table_set(ef, &ef->dynamic, &t);
}

static int elf_locate(struct elf_file *ef, const Elf64_Ehdr *header)
{
	struct dynamic_addresses addresses = {0};
	Elf64_Phdr dynamic = {0};
	struct elf_table section = {0};
	int err = elf_file_segments_read(ef, header, &dynamic);

	if (err)
		return err;
	elf_file_sections_read(ef, header, &section);
	if (dynamic.p_filesz && !elf_file_dynamic_read(ef, &dynamic, &addresses))
		elf_file_dynamic_locate(ef, &addresses, &section);
	return 0;
}

static bool elf_file_header_ours(const Elf64_Ehdr *h)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == BYTE_ORDER_HERE &&
	       (h->e_type == ET_DYN || h->e_type == ET_EXEC);
}

int elf_file_open(struct elf_file **ret, int fd)
{
	struct elf_file *ef = NULL;
	Elf64_Ehdr header;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < sizeof(header))
		return -ENOEXEC;
	ef = calloc(1, sizeof(*ef));
	if (!ef)
		return -ENOMEM;
	ef->fd = fd;
	ef->reads = &ef->reads_done;
	ef->size = (uint64_t)st.st_size;
	err = elf_read_exactly(ef, 0, &header, sizeof(header));
	if (!err && !elf_file_header_ours(&header))
		err = -ENOEXEC;
	if (!err) {
		ef->machine = header.e_machine;
		err = elf_locate(ef, &header);
	}
	if (err)
		elf_file_close(ef);
	else
		*ret = ef;
	return err;
}

void elf_file_close(struct elf_file *ef)
{
	free(ef);
}

int elf_file_machine(const struct elf_file *ef)
{
	return ef->machine;
}

int elf_file_soname(const struct elf_file *ef, char *ret, size_t cap)
{
	size_t len = ef->soname_room < cap ? (size_t)ef->soname_room : cap;
	int err = len ? elf_read_exactly(ef, ef->soname, ret, len) : -ENOENT;

	return err ? err : *ret && memchr(ret, 0, len) ? 0 : -ENOENT;
}

int elf_file_read(const struct elf_file *ef, uint64_t offset, void *buf, size_t len)
{
	for (size_t i = 0; i < ef->segments_count; i++) {
		const struct elf_segment *s = &ef->segments[i];
		uint64_t left;
		int err;

		if (!s->executable || offset < s->offset || offset - s->offset >= s->size)
			continue;
		left = s->size - (offset - s->offset);
		if (left < len)
			len = (size_t)left;
		if (len > INT32_MAX)
			len = INT32_MAX;
		err = elf_read_exactly(ef, offset, buf, len);
		return err ? err : (int)len;
	}
	return -EBADMSG;
}

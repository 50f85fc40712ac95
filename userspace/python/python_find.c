/* SPDX-License-Identifier: Apache-2.0 */
/* python_find.c - finds _PyRuntime in the memory of a process. The interpreter or libpython exports
 * this symbol, because extension modules are linked to it. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/proc_file.h"
#include "userspace/python/python_private.h"

#define PAGE 4096ull
/* Limit of mappings read from a process; the kernel's default limit is 65530 */
#define LINES_MAX    70000
#define SEGMENTS_MAX 64
#define DYNAMIC_MAX  256
#define BUCKETS_MAX  (1u << 24)
#define CHAIN_MAX    4096
#define NAME_BYTES   32
#define COOKIE_PIECE 65536
/* Limit of pieces of initialised data that are searched for the cookie with which _Py_DebugOffsets
 * begins */
#define COOKIE_PIECES 1024

struct python_elf { /* an object in memory */
	python_read_fn *read;
	void *ctx;
	/* Difference between an address in memory and the virtual address in the file */
	uint64_t bias;
	uint64_t hash, symbols, strings;
	uint64_t data, data_size; /* initialised data */
};

static bool python_elf_read(const struct python_elf *e, uint64_t address, void *to, size_t bytes)
{
	return e->read(e->ctx, &(struct python_range){address, to, bytes}, 1);
}

/* Reads the dynamic section, in which glibc's dynamic linker replaces virtual addresses by
 * addresses in memory. */
static bool python_elf_dynamic(struct python_elf *e, uint64_t base, const Elf64_Phdr *p)
{
	Elf64_Dyn dynamic[DYNAMIC_MAX];
	size_t n = p->p_memsz / sizeof(*dynamic);

	n = n < DYNAMIC_MAX ? n : DYNAMIC_MAX;
	if (!python_elf_read(e, e->bias + p->p_vaddr, dynamic, n * sizeof(*dynamic)))
		return false;
	for (size_t i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++) {
		uint64_t value = dynamic[i].d_un.d_ptr;

		value += value < base ? e->bias : 0;
		if (dynamic[i].d_tag == DT_GNU_HASH)
			e->hash = value;
		else if (dynamic[i].d_tag == DT_SYMTAB)
			e->symbols = value;
		else if (dynamic[i].d_tag == DT_STRTAB)
			e->strings = value;
	}
	return e->hash && e->symbols && e->strings;
}

/* Reads the headers of the ELF object at `base`. Returns false if there is no object. If the object
 * has no symbols, e->hash is 0. */
static bool python_elf_open(struct python_elf *e, uint64_t base)
{
	Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Ehdr head;

	if (!python_elf_read(e, base, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(*segments) || head.e_phnum > SEGMENTS_MAX ||
	    head.e_phoff > PAGE ||
	    !python_elf_read(e, base + head.e_phoff, segments, head.e_phnum * sizeof(*segments)))
		return false;
	for (size_t i = 0; i < head.e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD && segments[i].p_offset < PAGE)
			e->bias = base - (segments[i].p_vaddr & ~(PAGE - 1));
	}
	for (size_t i = 0; i < head.e_phnum; i++) {
		const Elf64_Phdr *p = &segments[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_W) {
			e->data = e->bias + p->p_vaddr;
			e->data_size = p->p_filesz;
		}
		if (p->p_type == PT_DYNAMIC && !python_elf_dynamic(e, base, p))
			e->hash = 0;
	}
	return true;
}

static uint32_t python_elf_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* Returns the address of a symbol, found by DT_GNU_HASH; 0: the object does not define it. */
static uint64_t python_elf_symbol(const struct python_elf *e, const char *name)
{
	struct {
		uint32_t buckets, first, bloom, shift;
	} head;
	uint32_t wanted = python_elf_hash(name), index, hash = 0;
	char found[NAME_BYTES];
	size_t len = strlen(name) + 1;
	uint64_t buckets;
	Elf64_Sym symbol;

	if (!e->hash || len > sizeof(found) || !python_elf_read(e, e->hash, &head, sizeof(head)) ||
	    !head.buckets || head.buckets > BUCKETS_MAX)
		return 0;
	buckets = e->hash + sizeof(head) + 8ull * head.bloom;
	if (!python_elf_read(e, buckets + 4ull * (wanted % head.buckets), &index, sizeof(index)) ||
	    index < head.first)
		return 0;
	for (int i = 0; i < CHAIN_MAX && !(i && hash & 1); i++, index++) {
		uint64_t chain = buckets + 4ull * head.buckets + 4ull * (index - head.first);

		if (!python_elf_read(e, chain, &hash, sizeof(hash)))
			return 0;
		if ((hash | 1) != (wanted | 1))
			continue;
		if (python_elf_read(e, e->symbols + sizeof(symbol) * (uint64_t)index, &symbol,
				    sizeof(symbol)) &&
		    symbol.st_shndx != SHN_UNDEF &&
		    python_elf_read(e, e->strings + symbol.st_name, found, len) &&
		    !memcmp(found, name, len))
			return e->bias + symbol.st_value;
	}
	return 0;
}

/* Searches initialised data, which contain the section .PyRuntime, for the cookie of
 * _Py_DebugOffsets. Returns its address; 0: not found. */
static uint64_t python_elf_cookie(const struct python_elf *e)
{
	uint8_t *piece = malloc(COOKIE_PIECE);
	uint64_t ret = 0;

	for (uint64_t at = 0, i = 0; piece && !ret && at < e->data_size && i < COOKIE_PIECES; i++) {
		uint64_t skip = (e->data + at) % 8 ? 8 - (e->data + at) % 8 : 0;
		uint64_t left = e->data_size - at;
		size_t n = left < COOKIE_PIECE ? (size_t)left : COOKIE_PIECE;

		if (!python_elf_read(e, e->data + at, piece, n))
			break;
		for (uint64_t k = skip; k + 16 <= n && !ret; k += 8) {
			if (python_offsets_begin(piece + k, n - k))
				ret = e->data + at + k;
		}
		at += n == COOKIE_PIECE ? COOKIE_PIECE - 16 : n;
	}
	free(piece);
	return ret;
}

/* Returns the version in a name such as "python3.10" or "libpython3.10.so.1.0"; 0: there is
 * none. */
static uint32_t python_find_version_named(const char *path)
{
	const char *base = strrchr(path, '/'), *at = strstr(base ? base : path, "python3.");
	unsigned long minor = at ? strtoul(at + strlen("python3."), NULL, 10) : 0;

	return minor && minor < 256 ? PYTHON_VERSION(3, minor) : 0;
}

int python_find_in(python_read_fn *read, void *ctx, uint64_t base, const char *path,
		   struct python_place *ret)
{
	struct python_elf e = {.read = read, .ctx = ctx};
	uint64_t address, version = 0;

	if (!python_elf_open(&e, base))
		return -ENOENT;
	*ret = (struct python_place){
		.version = python_find_version_named(path),
		.runtime = python_elf_symbol(&e, "_PyRuntime"),
		.code_type = python_elf_symbol(&e, "PyCode_Type"),
		.text_type = python_elf_symbol(&e, "PyUnicode_Type"),
	};
	if (!ret->runtime)
		ret->runtime = python_elf_cookie(&e);
	if (!ret->runtime)
		return -ENOENT;
	address = python_elf_symbol(&e, "Py_Version"); /* from 3.11 on */
	if (address && read(ctx, &(struct python_range){address, &version, sizeof(version)}, 1) &&
	    version >> 24 == 3)
		ret->version = (uint32_t)version;
	return 0;
}

int python_find(pid_t pid, python_read_fn *read, void *ctx, struct python_place *ret,
		char why[PYTHON_WHY_MAX])
{
	char line[PROC_PATH_MAX + 128], link[64], exe[PROC_PATH_MAX] = "";
	int fd = proc_open("", pid, "maps", O_RDONLY), err = -ENOENT;
	bool seen = false; /* a mapped file is named like Python */
	uint64_t base, offset;
	FILE *maps;
	int at;

	if (fd < 0) {
		snprintf(why, PYTHON_WHY_MAX, "cannot read /proc/%d/maps: %s", (int)pid,
			 strerror(-fd));
		return fd;
	}
	maps = fdopen(fd, "r");
	if (!maps) {
		close(fd);
		return -ENOMEM;
	}
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	if (readlink(link, exe, sizeof(exe) - 1) < 0)
		exe[0] = '\0';
	for (int i = 0; err && i < LINES_MAX && fgets(line, sizeof(line), maps); i++) {
		const char *name;
		bool named;

		line[strcspn(line, "\n")] = '\0';
		at = 0;
		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &base, &offset,
			   &at) != 2 ||
		    !at || offset || line[at] != '/')
			continue;
		name = strrchr(line + at, '/') + 1;
		named = !strncmp(name, "libpython3.", 11) || !strncmp(name, "python3.", 8);
		if (!named && strcmp(line + at, exe) != 0)
			continue;
		seen |= named;
		err = python_find_in(read, ctx, base, line + at, ret);
	}
	fclose(maps);
	if (err && seen) {
		snprintf(why, PYTHON_WHY_MAX,
			 "a CPython without the symbol _PyRuntime and without _Py_DebugOffsets");
		return -ENOTSUP;
	}
	if (err)
		snprintf(why, PYTHON_WHY_MAX, "no CPython in process %d", (int)pid);
	return err;
}

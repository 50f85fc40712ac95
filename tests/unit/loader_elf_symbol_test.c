/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader/elf/elf_symbol.h"

/* ---- a small library, made by hand so that each part of it can be spoilt */

#define BASE	     0x10000 /* virtual address of the file's first byte */
#define DYNAMIC_SYMS 13
#define FULL_SYMS    7
#define HASHED_FROM  2

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	Elf64_Dyn dynamic[6];
	struct {
		uint32_t buckets, first, bloom_words, bloom_shift;
		uint64_t bloom;
		uint32_t bucket, chain[DYNAMIC_SYMS - HASHED_FROM];
	} hash;
	Elf64_Sym symbols[DYNAMIC_SYMS], full[FULL_SYMS];
	Elf64_Shdr sections[5];
	uint8_t code[64];
	char strings[512];
};

static uint32_t strings_len;

static uint32_t text(struct image *im, const char *s)
{
	uint32_t at = strings_len;

	strings_len += (uint32_t)strlen(s) + 1;
	assert_true(strings_len <= sizeof(im->strings));
	strcpy(im->strings + at, s);
	return at;
}

#define ADDRESS(member) (BASE + offsetof(struct image, member))
#define FUNC		ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)

static void add_symbol(struct image *im, Elf64_Sym *sym, const char *name, uint8_t info,
		       uint64_t value)
{
	*sym = (Elf64_Sym){
		.st_name = text(im, name), .st_info = info, .st_shndx = 4, .st_value = value};
	sym->st_size = 8;
}

static void make_symbols(struct image *im)
{
	Elf64_Sym *s = im->symbols, *f = im->full;

	add_symbol(im, &s[1], "fake_undefined", FUNC, 0);
	s[1].st_shndx = SHN_UNDEF;
	add_symbol(im, &s[2], "fake_one", FUNC, ADDRESS(code));
	add_symbol(im, &s[3], "fake_weak", ELF64_ST_INFO(STB_WEAK, STT_FUNC), ADDRESS(code[8]));
	add_symbol(im, &s[4], "fake_ifunc", ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
		   ADDRESS(code));
	add_symbol(im, &s[5], "fake_data", ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), ADDRESS(code));
	add_symbol(im, &s[6], "fake_zero", FUNC, 0);
	add_symbol(im, &s[7], "fake_one_two", FUNC, ADDRESS(code[16]));
	add_symbol(im, &s[8], "fake_one", FUNC, ADDRESS(code[24])); /* of another version */
	add_symbol(im, &s[9], "fake_one_alias", FUNC, ADDRESS(code[16]));
	add_symbol(im, &s[10], "fake_tls", ELF64_ST_INFO(STB_GLOBAL, STT_TLS), ADDRESS(code));
	add_symbol(im, &s[11], "fake_outside", FUNC, 0x7fffffff0000);
	add_symbol(im, &s[12], "fake_absolute", FUNC, ADDRESS(code));
	s[12].st_shndx = SHN_ABS;
	add_symbol(im, &f[1], "fake_static", ELF64_ST_INFO(STB_LOCAL, STT_FUNC), ADDRESS(code[32]));
	add_symbol(im, &f[2], "fake_static.cold", ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
		   ADDRESS(code[40]));
	add_symbol(im, &f[3], "fake_versioned@@V1.2", FUNC, ADDRESS(code[48]));
	add_symbol(im, &f[4], "fake_one", FUNC, ADDRESS(code[56]));
	add_symbol(im, &f[5], "fake_static.part.0", FUNC, ADDRESS(code[56]));
	add_symbol(im, &f[6], "fake_tail", FUNC, ADDRESS(code[60]));
}

static void make_hash(struct image *im)
{
	im->hash.buckets = im->hash.bloom_words = 1;
	im->hash.first = im->hash.bucket = HASHED_FROM;
	im->hash.bloom_shift = 6;
	im->hash.bloom = UINT64_MAX;
	for (int i = HASHED_FROM; i < DYNAMIC_SYMS; i++) {
		uint32_t h = 5381;

		for (const char *c = im->strings + im->symbols[i].st_name; *c; c++)
			h = h * 33 + (uint8_t)*c;
		im->hash.chain[i - HASHED_FROM] = (h & ~1u) | (i == DYNAMIC_SYMS - 1);
	}
}

static void make_image(struct image *im)
{
	memset(im, 0, sizeof(*im));
	strings_len = 1;
	make_symbols(im);
	make_hash(im);
	im->head = (Elf64_Ehdr){.e_type = ET_DYN,
				.e_machine = EM_X86_64,
				.e_version = EV_CURRENT,
				.e_phoff = offsetof(struct image, segments),
				.e_phnum = 2,
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_shoff = offsetof(struct image, sections),
				.e_shnum = 5,
				.e_shentsize = sizeof(Elf64_Shdr)};
	memcpy(im->head.e_ident, ELFMAG, SELFMAG);
	im->head.e_ident[EI_CLASS] = ELFCLASS64;
	im->head.e_ident[EI_DATA] = ELFDATA2LSB;
	im->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
				       .p_flags = PF_R | PF_X,
				       .p_vaddr = BASE,
				       .p_filesz = sizeof(*im),
				       .p_memsz = sizeof(*im)};
	im->segments[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
				       .p_flags = PF_R,
				       .p_vaddr = ADDRESS(dynamic),
				       .p_offset = offsetof(struct image, dynamic),
				       .p_filesz = sizeof(im->dynamic)};
	im->dynamic[0] = (Elf64_Dyn){.d_tag = DT_SYMTAB, .d_un.d_ptr = ADDRESS(symbols)};
	im->dynamic[1] = (Elf64_Dyn){.d_tag = DT_STRTAB, .d_un.d_ptr = ADDRESS(strings)};
	im->dynamic[2] = (Elf64_Dyn){.d_tag = DT_STRSZ, .d_un.d_val = sizeof(im->strings)};
	im->dynamic[3] = (Elf64_Dyn){.d_tag = DT_SYMENT, .d_un.d_val = sizeof(Elf64_Sym)};
	im->dynamic[4] = (Elf64_Dyn){.d_tag = DT_GNU_HASH, .d_un.d_ptr = ADDRESS(hash)};
	im->sections[1] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
				       .sh_offset = offsetof(struct image, symbols),
				       .sh_size = sizeof(im->symbols),
				       .sh_entsize = sizeof(Elf64_Sym),
				       .sh_link = 3};
	im->sections[2] = im->sections[1];
	im->sections[2].sh_type = SHT_SYMTAB;
	im->sections[2].sh_offset = offsetof(struct image, full);
	im->sections[2].sh_size = sizeof(im->full);
	im->sections[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct image, strings),
				       .sh_size = sizeof(im->strings)};
}

static int memory_file(const void *bytes, size_t len)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, 0), len);
	return fd;
}

/* Count or error; offsets relative to the code, -1 terminated. */
static int find_in(int fd, const char *name, bool prefix, size_t max, int ret_at[8])
{
	struct elf_want want = {.name = name, .prefix = prefix};
	struct elf_found *found = NULL;
	struct elf_file *ef = NULL;
	int n = elf_file_open(&ef, fd);

	if (n)
		return n;
	n = elf_symbols_find(ef, &want, 1, max, &found);
	for (int i = 0; i < n && i < 7; i++)
		ret_at[i] = (int)(found[i].offset - offsetof(struct image, code));
	ret_at[n < 0 ? 0 : n < 7 ? n : 7] = -1;
	free(found);
	elf_file_close(ef);
	return n;
}

static int find(const struct image *im, const char *name, bool prefix, int ret_at[8])
{
	int fd = memory_file(im, sizeof(*im)), n = find_in(fd, name, prefix, 100, ret_at);

	close(fd);
	return n;
}

/* ---- finding */

static const struct {
	const char *name;
	bool prefix;
	int at[4];
} cases[] = {
	{"fake_one", false, {0, 24, -1}},    /* both versions, no prefix, no .symtab */
	{"fake_weak", false, {8, -1}},	     /* as all of ncclX */
	{"fake_one", true, {0, 16, 24, -1}}, /* the alias at 16 once */
	{"fake_undefined", false, {-1}},
	{"fake_ifunc", false, {-1}},
	{"fake_data", false, {-1}},
	{"fake_zero", false, {-1}},
	{"fake_tls", false, {-1}},
	{"fake_outside", false, {-1}},
	{"fake_absolute", false, {-1}},
	{"fake", false, {-1}},
	{"nothing", true, {-1}},
	{"fake_static", false, {32, -1}}, /* from .symtab */
	{"fake_static", true, {32, -1}},  /* its pieces are none of it */
	{"fake_versioned", false, {48, -1}},
	{"fake_versioned", true, {48, -1}},
	{"ake_one", false, {-1}},
};

static void check_cases(const struct image *im, bool full)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int at[8], n = find(im, cases[i].name, cases[i].prefix, at), expected = 0;

		if (!full && cases[i].at[0] >= 32)
			continue;
		while (cases[i].at[expected] != -1)
			expected++;
		if (n != expected || memcmp(at, cases[i].at, (size_t)(expected + 1) * sizeof(int)))
			fail_msg("%s%s: %d found, first at %d", cases[i].name,
				 cases[i].prefix ? "*" : "", n, at[0]);
	}
}

static void test_find(void **state)
{
	struct image im;

	(void)state;
	make_image(&im);
	check_cases(&im, true);
	im.head.e_type = ET_EXEC;
	check_cases(&im, true);
}

static void test_parts_missing(void **state)
{
	struct image im;

	(void)state;
	make_image(&im); /* section headers stripped: the hash table tells how many symbols there
			    are */
	im.head.e_shoff = 0;
	check_cases(&im, false);
	make_image(&im); /* no hash table */
	im.dynamic[4].d_tag = DT_NULL;
	check_cases(&im, true);
	make_image(&im); /* a chain without an end */
	im.hash.chain[DYNAMIC_SYMS - HASHED_FROM - 1] &= ~1u;
	check_cases(&im, true);
	make_image(&im); /* the bucket starts before the first hashed symbol */
	im.hash.bucket = 1;
	check_cases(&im, true);
	make_image(&im);
	im.hash.buckets = 0;
	check_cases(&im, true);
	make_image(&im);
	im.hash.bloom_words = UINT32_MAX;
	check_cases(&im, true);
	make_image(&im);
	im.dynamic[4].d_un.d_ptr = UINT64_MAX - 4;
	check_cases(&im, true);
	make_image(&im); /* section 0 holds the count, as in files of 65 280 sections */
	im.head.e_shnum = 0;
	im.sections[0].sh_size = 5;
	check_cases(&im, true);
}

static void test_several_wants(void **state)
{
	static const struct elf_want wants[] = {{"fake_static", false},
						{"nothing", false},
						{"fake_weak", false},
						{"fake_on", true}};
	static const struct {
		size_t want;
		int at;
	} expected[] = {{0, 32}, {2, 8}, {3, 0}, {3, 16}, {3, 24}};
	struct elf_found *found;
	struct elf_file *ef;
	struct image im;
	int fd;

	(void)state;
	make_image(&im);
	fd = memory_file(&im, sizeof(im));
	assert_int_equal(elf_file_open(&ef, fd), 0);
	assert_int_equal(elf_file_machine(ef), EM_X86_64);
	assert_int_equal(elf_symbols_find(ef, wants, 4, 5, &found), 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(found[i].want, expected[i].want);
		assert_int_equal(found[i].offset,
				 offsetof(struct image, code) + (size_t)expected[i].at);
		assert_int_equal(found[i].size, 8);
	}
	free(found);
	assert_int_equal(elf_symbols_find(ef, wants, 4, 4, &found), -E2BIG);
	assert_int_equal(elf_symbols_find(ef, wants, 0, 4, &found), 0);
	free(found);
	elf_file_close(ef);
	close(fd);
}

static void test_read(void **state)
{
	uint8_t buf[256];
	struct elf_file *ef;
	struct image im;
	int fd;

	(void)state;
	make_image(&im);
	memset(im.code, 0xc3, sizeof(im.code));
	im.segments[0].p_filesz = offsetof(struct image, strings);
	fd = memory_file(&im, sizeof(im));
	assert_int_equal(elf_file_open(&ef, fd), 0);
	assert_int_equal(elf_file_read(ef, offsetof(struct image, code[10]), buf, 20), 20);
	assert_int_equal(buf[19], 0xc3);
	assert_int_equal(elf_file_read(ef, offsetof(struct image, code[60]), buf, sizeof(buf)), 4);
	assert_int_equal(elf_file_read(ef, offsetof(struct image, strings), buf, 1), -EBADMSG);
	assert_int_equal(elf_file_read(ef, UINT64_MAX, buf, 1), -EBADMSG);
	elf_file_close(ef);
	close(fd);
}

/* 0 or -errno. */
static int soname(const struct image *im, char *ret, size_t cap)
{
	int fd = memory_file(im, sizeof(*im)), err;
	struct elf_file *ef;

	assert_int_equal(elf_file_open(&ef, fd), 0);
	err = elf_file_soname(ef, ret, cap);
	elf_file_close(ef);
	close(fd);
	return err;
}

static void test_soname(void **state)
{
	struct image im;
	char name[16];

	(void)state;
	make_image(&im);
	assert_int_equal(soname(&im, name, sizeof(name)), -ENOENT);
	im.dynamic[5] = (Elf64_Dyn){.d_tag = DT_SONAME, .d_un.d_val = im.symbols[2].st_name};
	assert_int_equal(soname(&im, name, sizeof(name)), 0);
	assert_string_equal(name, "fake_one");
	assert_int_equal(soname(&im, name, 8), -ENOENT); /* no room for its end */
	im.dynamic[5].d_un.d_val = sizeof(im.strings);
	assert_int_equal(soname(&im, name, sizeof(name)), -ENOENT);
	im.dynamic[5].d_un.d_val = UINT64_MAX;
	assert_int_equal(soname(&im, name, sizeof(name)), -ENOENT);
	im.dynamic[5].d_un.d_val = sizeof(im.strings) - 1;
	im.strings[sizeof(im.strings) - 1] = 'x'; /* it does not end */
	assert_int_equal(soname(&im, name, sizeof(name)), -ENOENT);
	im.dynamic[5].d_un.d_val = im.symbols[2].st_name;
	im.dynamic[2].d_un.d_val = sizeof(im); /* strings behind the end of the file */
	assert_int_equal(soname(&im, name, sizeof(name)), -ENOENT);
}

/* The hash table is believed: what it hides is not found, so no pass over all symbols was made. */
static void test_hash_is_used(void **state)
{
	struct image im;
	int at[8];

	(void)state;
	make_image(&im);
	im.hash.chain[8 - HASHED_FROM] ^= 2;
	assert_int_equal(find(&im, "fake_one", false, at), 1);
	assert_int_equal(at[0], 0);
	assert_int_equal(find(&im, "fake_one", true, at), 3);
	make_image(&im);
	im.hash.bloom = 0;
	assert_int_equal(find(&im, "fake_weak", false, at), 0);
}

/* ---- lies */

static void test_no_elf(void **state)
{
	struct image im;
	int at[8], pipes[2];

	(void)state;
	make_image(&im);
	im.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(find(&im, "fake_one", false, at), -ENOEXEC);
	make_image(&im);
	im.head.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(find(&im, "fake_one", false, at), -ENOEXEC);
	make_image(&im);
	im.head.e_type = ET_REL;
	assert_int_equal(find(&im, "fake_one", false, at), -ENOEXEC);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(find_in(pipes[0], "fake_one", false, 9, at), -ENOEXEC);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(find_in(-1, "fake_one", false, 9, at), -EBADF);
}

/* Each of these costs the table it is about, and nothing else. */
static void test_lies(void **state)
{
	struct image im;
	int at[8];

	(void)state;
	make_image(&im);
	im.head.e_phentsize = 0;
	assert_int_equal(find(&im, "fake_one", false, at), -EBADMSG);
	make_image(&im);
	im.head.e_phoff = UINT64_MAX - 8;
	assert_int_equal(find(&im, "fake_one", false, at), -EBADMSG);
	make_image(&im);
	im.head.e_phnum = 0xfffe;
	assert_int_equal(find(&im, "fake_one", false, at), -EBADMSG);

	make_image(&im); /* four billion symbols */
	im.sections[2].sh_size = 24ull << 32;
	assert_int_equal(find(&im, "fake_static", false, at), 0);
	assert_int_equal(find(&im, "fake_one", false, at), 2);
	make_image(&im);
	im.sections[1].sh_size = UINT64_MAX;
	assert_int_equal(find(&im, "fake_one", true, at), 3);
	make_image(&im);
	im.sections[2].sh_entsize = 0;
	assert_int_equal(find(&im, "fake_static", false, at), 0);
	make_image(&im);
	im.sections[2].sh_offset = sizeof(im) + 1;
	assert_int_equal(find(&im, "fake_static", false, at), 0);
	make_image(&im);
	im.sections[2].sh_link = 0xffffffff;
	assert_int_equal(find(&im, "fake_static", false, at), 0);
	make_image(&im);
	im.sections[3].sh_size = UINT64_MAX;
	assert_int_equal(find(&im, "fake_static", false, at), 0);
	make_image(&im); /* the symbols lie over their own strings */
	im.sections[2].sh_offset = im.sections[3].sh_offset = offsetof(struct image, strings);
	assert_true(find(&im, "fake_static", false, at) <= 1);
	make_image(&im);
	im.head.e_shoff = UINT64_MAX - 63;
	assert_int_equal(find(&im, "fake_one", false, at), 2);
	make_image(&im);
	im.segments[1].p_filesz = UINT64_MAX;
	assert_int_equal(find(&im, "fake_static", false, at), 1);
	make_image(&im); /* a name behind the end of the strings */
	im.symbols[2].st_name = UINT32_MAX;
	assert_int_equal(find(&im, "fake_one", false, at), 1);
	assert_int_equal(find(&im, "fake_one", true, at), 2);
	make_image(&im); /* strings end with the file, and without a NUL */
	memset(im.strings + strings_len - 1, 'x', sizeof(im.strings) - strings_len + 1);
	assert_int_equal(find(&im, "fake_tail", true, at), 1);
	assert_int_equal(find(&im, "fake_tail", false, at), 0);
}

static void try_everything(int fd)
{
	int at[8];

	find_in(fd, "fake_one", false, 100, at);
	find_in(fd, "fake_one", true, 100, at);
	find_in(fd, "fake_static", false, 100, at);
}

static void test_truncated(void **state)
{
	struct image im;
	int fd;

	(void)state;
	make_image(&im);
	fd = memory_file(&im, sizeof(im));
	for (off_t len = sizeof(im); len >= 0; len -= 3) {
		assert_int_equal(ftruncate(fd, len), 0);
		try_everything(fd);
	}
	close(fd);
}

/* Words of the headers and tables replaced by values that are likely to hurt. */
static void test_mutated(void **state)
{
	static const uint64_t values[] = {0,	      1,	  0xff,	     0xffff,
					  0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX};
	struct image im, bad;
	int fd;

	(void)state;
	make_image(&im);
	fd = memory_file(&im, sizeof(im));
	srand(11);
	for (int round = 0; round < 4000; round++) {
		bad = im;
		for (int i = 0; i < 1 + round % 4; i++) {
			size_t at = (size_t)rand() % (sizeof(bad) - 8);

			memcpy((char *)&bad + at, &values[rand() % 8], (size_t)(1 << rand() % 4));
		}
		assert_int_equal(pwrite(fd, &bad, sizeof(bad), 0), sizeof(bad));
		try_everything(fd);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),	      cmocka_unit_test(test_parts_missing),
		cmocka_unit_test(test_several_wants), cmocka_unit_test(test_read),
		cmocka_unit_test(test_no_elf),	      cmocka_unit_test(test_lies),
		cmocka_unit_test(test_truncated),     cmocka_unit_test(test_mutated),
		cmocka_unit_test(test_hash_is_used),  cmocka_unit_test(test_soname),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

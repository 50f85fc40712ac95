/* SPDX-License-Identifier: Apache-2.0 */
/* The code and the texts of a library without symbols, whose functions name themselves. */
#include <elf.h>

#include "loader/elf/elf_symbol.h"
#include "loader/site/site_text.h"
#include "tests/fuzz/fuzz.h"

#define CODE_MAX  (1u << 16)
#define ADDRESS	  0x100000
#define FUNCTIONS 64
#define EACH	  256 /* bytes from one function to the next */

static struct fuzz_file file;
static struct {
	Elf64_Ehdr header;
	Elf64_Phdr code, unwind;
	struct {
		uint8_t head[4];
		int32_t frame;
		uint32_t count;
		int32_t entry[FUNCTIONS][2];
	} table;
	uint8_t bytes[CODE_MAX];
} image;

#define TABLE_AT offsetof(__typeof__(image), table)
#define BYTES_AT offsetof(__typeof__(image), bytes)

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	fuzz_file_open(&file);
	image.header = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
						ELFDATA2LSB, EV_CURRENT},
				    .e_type = ET_DYN,
				    .e_version = EV_CURRENT,
				    .e_phoff = sizeof(Elf64_Ehdr),
				    .e_ehsize = sizeof(Elf64_Ehdr),
				    .e_phentsize = sizeof(Elf64_Phdr),
				    .e_phnum = 2,
				    .e_shentsize = sizeof(Elf64_Shdr)};
	image.unwind = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
				    .p_flags = PF_R,
				    .p_offset = TABLE_AT,
				    .p_vaddr = ADDRESS - BYTES_AT + TABLE_AT,
				    .p_filesz = sizeof(image.table),
				    .p_memsz = sizeof(image.table)};
	memcpy(image.table.head, "\1\x1b\x03\x3b", 4);
	image.table.count = FUNCTIONS;
	for (int i = 0; i < FUNCTIONS; i++)
		image.table.entry[i][0] = (int32_t)(BYTES_AT - TABLE_AT) + i * EACH;
	return 0;
}

/* data: the machine, then its code and texts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const one[] = {"PJRT_Client_Compile_Args", "PJRT_Client_Compile", NULL},
				 *const other[] = {"PJRT_Event_Await", NULL};
	static const struct site_want want[] = {{one}, {other}};
	uint64_t found[2];

	if (!len-- || len > CODE_MAX)
		return 0;
	image.header.e_machine = *data++ % 2 ? EM_AARCH64 : EM_X86_64;
	image.code = (Elf64_Phdr){.p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_offset = BYTES_AT,
				  .p_vaddr = ADDRESS,
				  .p_filesz = len,
				  .p_memsz = len};
	memcpy(image.bytes, data, len);
	fuzz_file_fill(&file, (const uint8_t *)&image, sizeof(image) - sizeof(image.bytes) + len);
	if (site_texts_find(NULL, file.fd, want, 2, found))
		return 0;
	for (int i = 0; i < 2; i++)
		REQUIRE(!found[i] || found[i] == SITE_TEXT_TWICE ||
			(found[i] >= BYTES_AT && found[i] < BYTES_AT + len &&
			 (found[i] - BYTES_AT) % EACH == 0));
	return 0;
}

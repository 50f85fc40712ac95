/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a plugin: what fills the table of its functions, and the names that these have in
 * them. */
#include <elf.h>

#include "loader/elf/elf_symbol.h"
#include "loader/site/pjrt.h"
#include "tests/fuzz/fuzz.h"

#define CODE_MAX (1u << 16)
#define ADDRESS	 0x100000

static struct fuzz_file file;
static struct {
	Elf64_Ehdr header;
	Elf64_Phdr code;
	uint8_t bytes[CODE_MAX];
} image;

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
				    .e_phnum = 1,
				    .e_shentsize = sizeof(Elf64_Shdr)};
	return 0;
}

/* data: the machine, then its code. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char symbol[] =
		"_ZN4pjrt29PJRT_LoadedExecutable_ExecuteEP34PJRT_LoadedExecutable_Execute_Args";
	struct pjrt_slots slots;
	struct elf_file *ef;
	int err;

	if (!len-- || len > CODE_MAX)
		return 0;
	image.header.e_machine = *data++ % 2 ? EM_AARCH64 : EM_X86_64;
	image.code = (Elf64_Phdr){.p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_offset = offsetof(__typeof__(image), bytes),
				  .p_vaddr = ADDRESS,
				  .p_filesz = len,
				  .p_memsz = len};
	memcpy(image.bytes, data, len);
	fuzz_file_fill(&file, (const uint8_t *)&image, sizeof(image) - sizeof(image.bytes) + len);
	if (elf_file_open(&ef, file.fd))
		return 0;
	err = pjrt_decode(ef, &slots);
	for (size_t i = 0; !err && i < PJRT_SLOTS_MAX; i++)
		REQUIRE(slots.offset[i] < image.code.p_offset + len &&
			(!slots.offset[i] || (i >= 5 && i < slots.size / 8)));
	pjrt_function_named(ef, err ? image.code.p_offset : slots.offset[480 / 8], symbol);
	elf_file_close(ef);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a process with CPython, with words of the input written into it before and while it is
 * read: what is read is bounded, and each text can be shown. Line tables of each format. The input
 * as an interpreter in memory. */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/python_memory.h"

#define THREADS_MAX 4

static struct python_memory memory;
static struct input patches;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static void memory_patch(struct python_memory *m)
{
	uint16_t at;
	uint64_t word;

	if (!input_left(&patches))
		return;
	input_bytes(&patches, &at, sizeof(at));
	word = 0;
	input_bytes(&patches, &word, input_byte(&patches) % sizeof(word) + 1);
	memory_word(m, MEMORY_BEGIN + at % (MEMORY_SIZE - 8), word);
}

/* As from 3.13 on, each offset of the input. */
static void memory_debug_offsets(uint64_t version)
{
	uint64_t words[81] = {0};

	memcpy(words, "xdebugpy", 8);
	words[1] = version;
	for (size_t i = 3; i < sizeof(words) / sizeof(*words); i++)
		words[i] = input_byte(&patches);
	memory_put(&memory, AT_RUNTIME, words, sizeof(words));
}

static void threads_check(const struct python_thread *threads, int n)
{
	REQUIRE(n <= THREADS_MAX);
	for (int i = 0; i < n; i++) {
		REQUIRE(threads[i].nframes <= PYTHON_FRAMES_MAX && threads[i].tid >= 0);
		for (uint32_t k = 0; k < threads[i].nframes; k++) {
			const struct python_frame *f = &threads[i].frames[k];

			REQUIRE(strlen(f->function) < PYTHON_TEXT_MAX && f->line >= 0);
			REQUIRE(strlen(f->file) < PYTHON_TEXT_MAX);
			REQUIRE(fuzz_printable(f->function, strlen(f->function), false));
			REQUIRE(fuzz_printable(f->file, strlen(f->file), false));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct python_thread threads[THREADS_MAX];
	struct python_place place = memory_place();
	struct python_process *p;
	char why[PYTHON_WHY_MAX];
	uint8_t before;

	for (int format = PYTHON_LNOTAB; len > 2 && format <= PYTHON_LOCATIONS; format++)
		REQUIRE(python_line(format, data + 2, len - 2, data[0], data[1] * 8) >= 0);
	memset(&memory, 0, sizeof(memory));
	memory_put(&memory, MEMORY_BEGIN, data, len < MEMORY_SIZE ? len : MEMORY_SIZE);
	if (!python_find_in(python_memory_get, &memory, MEMORY_BEGIN, "/python3.11", &place))
		REQUIRE(place.runtime);
	place = memory_place();
	memory_make(&memory);
	patches = (struct input){data, data + len};
	place.version = PYTHON_VERSION(3, 8 + input_byte(&patches) % 8);
	place.text_type = input_byte(&patches) & 1 ? place.text_type : 0;
	place.code_type = place.text_type ? place.code_type : 0;
	if (place.version >= PYTHON_VERSION(3, 13))
		memory_debug_offsets(place.version);
	for (before = input_byte(&patches); before && input_left(&patches); before--)
		memory_patch(&memory);
	memory.run = memory_patch;
	if (python_attach(1, python_memory_get, &memory, &place, &p, why))
		return 0;
	for (int i = 0; i < 2; i++)
		threads_check(threads, python_dump(p, threads, THREADS_MAX, why));
	python_close(p);
	return 0;
}

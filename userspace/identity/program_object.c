/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/program_object.h"

#include <errno.h>
#include <string.h>

/* Limit of bytes of an object that are searched for a pointer to the next object; the first match
 * is used. */
#define WINDOW 4096
/* Limit of bytes that are searched of a program's handle, a structure of the runtime's upper layer
 * that points to the first object. */
#define HANDLE	     256
#define TYPE_MAX     64
#define TABLES	     64	    /* number of virtual tables whose types are remembered */
#define READS_MAX    400000 /* limit of reads, which usually take 1 us each */
#define COMPUTATIONS 8192
#define INSTRUCTIONS 200000
#define METADATA     128 /* bytes of an instruction's metadata searched for texts */
#define TEXT_MAX     1024
#define ADDRESS_MIN  0x10000ull
#define ADDRESS_END  0x800000000000ull
#define MODULE_NAME  8	 /* offset of a module's name, a std::string */
#define COMPUTATION  512 /* bytes of a computation that are searched for its instructions */
#define INSTRUCTION  512

enum type {
	TYPE_NONE,
	TYPE_LOADED,	 /* XLA's object for an executable that is loaded on devices */
	TYPE_CLIENT,	 /* the CPU client's object for the executable */
	TYPE_EXECUTABLE, /* the compiler's object for the executable */
	TYPE_MODULE,
	TYPE_INSTRUCTION, /* an instruction of any kind */
	TYPE_METADATA,
};

static const struct {
	const char *name;
	enum type type;
} types[] = {
	{"N3xla23PjRtCpuLoadedExecutableE", TYPE_LOADED},
	{"N3xla17TfrtCpuExecutableE", TYPE_CLIENT},
	{"N3xla17PjRtCpuExecutableE", TYPE_CLIENT},
	{"N3xla3cpu13CpuExecutableE", TYPE_EXECUTABLE},
	{"N3xla9HloModuleE", TYPE_MODULE},
	{"N3xla10OpMetadataE", TYPE_METADATA},
};

struct walk {
	program_read *read;
	void *ctx;
	uint32_t reads, instructions, ntables;
	struct {
		uint64_t address;
		enum type type;
	} table[TABLES];
	struct program_name *name;
};

/* A std::vector in the memory of the process */
struct vector {
	uint64_t begin, count; /* words */
};

static size_t object_walk_read(struct walk *w, uint64_t address, void *to, size_t bytes)
{
	if (address < ADDRESS_MIN || address >= ADDRESS_END || w->reads++ >= READS_MAX)
		return 0;
	return w->read(w->ctx, address, to, bytes);
}

static uint64_t object_walk_word(struct walk *w, uint64_t address)
{
	uint64_t word = 0;

	return object_walk_read(w, address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

static enum type object_type_named(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (!strcmp(name, types[i].name))
			return types[i].type;
	}
	return len > 12 && !strncmp(name, "N3xla", 5) && strstr(name, "Hlo") &&
			       !strcmp(name + len - 12, "InstructionE")
		       ? TYPE_INSTRUCTION
		       : TYPE_NONE;
}

/* Returns the type of an object. An object begins with the address of its virtual table; the word
 * before the table is the address of the type_info, whose second word is the type's name. */
static enum type object_type(struct walk *w, uint64_t object)
{
	uint64_t table = object % 8 ? 0 : object_walk_word(w, object), info;
	char name[TYPE_MAX] = "";
	enum type type;

	if (!table || table % 8)
		return TYPE_NONE;
	for (uint32_t i = 0; i < w->ntables && i < TABLES; i++) {
		if (w->table[i].address == table)
			return w->table[i].type;
	}
	info = object_walk_word(w, table - 8);
	if (!info || info % 8)
		return TYPE_NONE;
	if (object_walk_read(w, object_walk_word(w, info + 8), name, sizeof(name) - 1) < 8)
		return TYPE_NONE;
	type = object_type_named(name);
	if (type != TYPE_NONE || !strncmp(name, "N3xla", 5)) {
		w->table[w->ntables % TABLES].address = table;
		w->table[w->ntables % TABLES].type = type;
		w->ntables += w->ntables < TABLES;
	}
	return type;
}

static size_t object_words(struct walk *w, uint64_t object, uint64_t *words, size_t bytes)
{
	return object_walk_read(w, object, words, bytes) / sizeof(*words);
}

/* Finds the first pointer in an object to an object of the next type in the chain. Memory after the
 * object may contain pointers of other programs, but those in the object come first. */
static uint64_t object_next(struct walk *w, uint64_t object, enum type *type)
{
	uint64_t words[WINDOW / 8];
	bool known = *type != TYPE_NONE;
	size_t n = object_words(w, object, words, known ? WINDOW : HANDLE);

	for (size_t i = 0; i < n; i++) {
		enum type next = words[i] == object ? TYPE_NONE : object_type(w, words[i]);

		if (next != *type + 1 && (known || next != TYPE_CLIENT))
			continue;
		*type = next;
		return words[i];
	}
	return 0;
}

/* Reads a std::string completely, or as much of it as fits. */
static size_t object_string_read(struct walk *w, uint64_t at, char *to, size_t room)
{
	uint64_t head[2];

	if (at % 8 || object_walk_read(w, at, head, sizeof(head)) != sizeof(head) || !head[1] ||
	    head[1] >= room)
		return 0;
	return object_walk_read(w, head[0], to, head[1]);
}

static void object_metadata_scan(struct walk *w, uint64_t metadata)
{
	uint64_t words[METADATA / 8];
	size_t n = object_words(w, metadata, words, sizeof(words));
	char text[TEXT_MAX];

	for (size_t i = 1; i < n; i++) /* the two lowest bits of a pointer to a string are flags */
		program_content_scan(w->name, text,
				     object_string_read(w, words[i] & ~3ull, text, sizeof(text)));
}

static void object_instruction_scan(struct walk *w, uint64_t instruction, uint64_t *at)
{
	uint64_t words[INSTRUCTION / 8];
	size_t n;

	if (w->instructions++ >= INSTRUCTIONS)
		return;
	if (*at && object_type(w, object_walk_word(w, instruction + *at)) == TYPE_METADATA) {
		object_metadata_scan(w, object_walk_word(w, instruction + *at));
		return;
	}
	n = *at ? 0 : object_words(w, instruction, words, sizeof(words));
	for (size_t i = 1; i < n; i++) {
		if (object_type(w, words[i]) != TYPE_METADATA)
			continue;
		*at = i * 8;
		object_metadata_scan(w, words[i]);
		return;
	}
}

/* Reads a std::vector from its three words: begin, end, end of capacity. */
static bool object_vector_at(const uint64_t *words, struct vector *ret, uint64_t most)
{
	uint64_t begin = words[0], end = words[1];

	if (begin < ADDRESS_MIN || begin % 8 || end % 8 || end <= begin || end > words[2] ||
	    words[2] >= ADDRESS_END || (end - begin) / 8 > most)
		return false;
	*ret = (struct vector){begin, (end - begin) / 8};
	return true;
}

/* Scans the instructions of a computation, which are in a vector of pairs; the second word of a
 * pair is the instruction or 0. The offset of the metadata is found in the first instruction that
 * has metadata, and used for the others. */
static bool object_computation_scan(struct walk *w, uint64_t computation, uint64_t *at)
{
	uint64_t words[COMPUTATION / 8], pair[2];
	size_t n = object_words(w, computation, words, sizeof(words));
	struct vector v;

	for (size_t i = 0; i + 2 < n; i++) {
		bool whole = object_vector_at(words + i, &v, 2ull * INSTRUCTIONS) &&
			     v.count % 2 == 0;

		for (uint64_t k = 0; whole && k < v.count && k < 16; k += 2) {
			uint64_t object = object_walk_word(w, v.begin + 8 * (k + 1));

			whole = !object || object_type(w, object) == TYPE_INSTRUCTION;
		}
		if (!whole)
			continue;
		for (uint64_t k = 0; k < v.count && !w->name->gradient; k += 2) {
			if (object_walk_read(w, v.begin + 8 * k, pair, sizeof(pair)) !=
			    sizeof(pair))
				return false;
			if (pair[1] && object_type(w, pair[1]) == TYPE_INSTRUCTION)
				object_instruction_scan(w, pair[1], at);
		}
		return true;
	}
	return false;
}

/* Finds the computations of a module: the first vector whose elements contain instructions. */
static void program_object_module(struct walk *w, uint64_t module)
{
	uint64_t words[WINDOW / 8], at = 0;
	size_t n = object_words(w, module, words, 1024);
	struct vector v;

	for (size_t i = 1; i + 2 < n; i++) {
		if (!object_vector_at(words + i, &v, COMPUTATIONS) ||
		    !object_computation_scan(w, object_walk_word(w, v.begin), &at))
			continue;
		for (uint64_t k = 1; k < v.count && !w->name->gradient; k++)
			object_computation_scan(w, object_walk_word(w, v.begin + 8 * k), &at);
		return;
	}
}

int program_object_scan(program_read *read, void *ctx, uint64_t handle, struct program_name *ret)
{
	struct walk w = {.read = read, .ctx = ctx, .name = ret};
	enum type type = object_type(&w, handle);
	char name[PROGRAM_NAME_MAX];
	uint64_t object = handle;

	memset(ret, 0, sizeof(*ret));
	while (object && type < TYPE_MODULE)
		object = object_next(&w, object, &type);
	if (!object || type != TYPE_MODULE)
		return -ENOENT;
	if (!program_name_take(ret, name,
			       object_string_read(&w, object + MODULE_NAME, name, sizeof(name))))
		return -ENOENT;
	program_object_module(&w, object);
	/* a limit was reached: the remaining instructions may contain a gradient */
	if (w.reads >= READS_MAX || w.instructions >= INSTRUCTIONS)
		ret->ops_named = false;
	return 0;
}

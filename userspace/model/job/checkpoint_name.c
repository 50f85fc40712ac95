/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/job/checkpoint_name.h"

#include <string.h>

const char *const checkpoint_format_name[CHECKPOINT_FORMATS] = {
	[CHECKPOINT_NONE] = "unknown",
	[CHECKPOINT_TORCH] = "torch",
	[CHECKPOINT_DISTRIBUTED] = "distributed",
	[CHECKPOINT_SAFETENSORS] = "safetensors",
	[CHECKPOINT_NUMPY] = "numpy",
	[CHECKPOINT_MSGPACK] = "msgpack",
	[CHECKPOINT_ORBAX] = "orbax",
	[CHECKPOINT_TENSORFLOW] = "tensorflow",
	[CHECKPOINT_LIGHTNING] = "lightning",
	[CHECKPOINT_HUGGINGFACE] = "huggingface",
	[CHECKPOINT_OTHER] = "other",
	[CHECKPOINT_KERAS] = "keras",
};

/* Maximum depth of folders within a checkpoint. Orbax has 5/default/ocdbt.process_0/d/... */
#define FOLDERS 4

#define ORBAX_TEMPORARY ".orbax-checkpoint-tmp"

struct part { /* a part of a path */
	const char *at;
	size_t len;
};

static bool checkpoint_name_part_is(struct part p, const char *text)
{
	return p.len == strlen(text) && !memcmp(p.at, text, p.len);
}

static bool checkpoint_name_part_begins(struct part p, const char *text)
{
	size_t len = strlen(text);

	return p.len >= len && !memcmp(p.at, text, len);
}

static bool checkpoint_name_part_ends(struct part p, const char *text)
{
	size_t len = strlen(text);

	return p.len >= len && !memcmp(p.at + p.len - len, text, len);
}

/* Returns the offset after the first occurrence of `text` in the part, or 0 if there is none. */
static size_t checkpoint_name_part_after(struct part p, const char *text)
{
	const char *at = p.len ? memmem(p.at, p.len, text, strlen(text)) : NULL;

	return at ? (size_t)(at - p.at) + strlen(text) : 0;
}

static bool checkpoint_name_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the number at an offset of the part. Returns false if there is none, or if it is too long
 * for a number of steps. */
static bool checkpoint_name_part_number(struct part p, size_t at, uint64_t *ret)
{
	uint64_t v = 0;
	size_t from = at;

	while (at < p.len && checkpoint_name_is_digit(p.at[at]) && at - from < 15)
		v = v * 10 + (uint64_t)(p.at[at++] - '0');
	if (at == from || (at < p.len && checkpoint_name_is_digit(p.at[at])))
		return false;
	*ret = v;
	return true;
}

/* Finds the step in a file name such as "epoch=3-step=400.ckpt", "step_100", "global_step100",
 * "checkpoint-500", "iter_0000010", "ckpt-7" or "100". */
static bool checkpoint_name_part_step(struct part p, uint64_t *ret)
{
	static const char *const words[] = {"step=", "step_", "step-",	     "step",
					    "iter_", "iter-", "checkpoint-", "checkpoint_",
					    "ckpt-", "ckpt_"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t at = checkpoint_name_part_after(p, words[i]);

		if (at && checkpoint_name_part_number(p, at, ret))
			return true;
	}
	return false;
}

static bool checkpoint_name_part_digits(struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (!checkpoint_name_is_digit(p.at[i]))
			return false;
	return p.len && p.len < 12;
}

/* Removes the suffix that a writer gives a name until the file is complete, such as ".tmp". Returns
 * true if there was one. */
static bool checkpoint_name_part_temporary(struct part *p)
{
	static const char *const marks[] = {ORBAX_TEMPORARY, ".tmp", ".temp", ".part",
					    ".incomplete"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		size_t at = checkpoint_name_part_after(*p, marks[i]);

		/* accepts ".tmp", ".tmp.123" and ".tmp-ab", but not ".tmpl" */
		if (at <= strlen(marks[i]) || (at < p->len && !strchr(".-_", p->at[at])))
			continue;
		p->len = at - strlen(marks[i]);
		return true;
	}
	if (checkpoint_name_part_begins(*p, "tmp-") || checkpoint_name_part_begins(*p, "tmp_")) {
		*p = (struct part){p->at + 4, p->len - 4};
		return true;
	}
	if (p->len > 1 && p->at[p->len - 1] == '~') {
		p->len--;
		return true;
	}
	return false;
}

static struct part checkpoint_name_part_last(const char *path, size_t len)
{
	size_t at = len;

	while (at && path[at - 1] != '/')
		at--;
	return (struct part){path + at, len - at};
}

/* Returns the length of the prefix that all files of a TensorFlow checkpoint share ("ckpt-7" of
 * "ckpt-7.index" and "ckpt-7.data-00000-of-00001"), or 0 if the file is not of that kind. */
static size_t checkpoint_name_tensorflow_prefix(struct part p)
{
	const size_t data = checkpoint_name_part_after(p, ".data-"), tail = strlen(".index");

	if (data && (checkpoint_name_part_begins(p, "ckpt") ||
		     checkpoint_name_part_after(p, "-of-") > data))
		return data - strlen(".data-");
	return checkpoint_name_part_begins(p, "ckpt") && checkpoint_name_part_ends(p, ".index")
		       ? p.len - tail
		       : 0;
}

/* Classifies a file by its own name. Sets n->folder if checkpoints of this format are folders. */
static void name_file(struct part p, struct checkpoint_name *n)
{
	static const struct {
		const char *end;
		enum checkpoint_format format;
		bool folder, data;
	} ends[] = {
		{".distcp", CHECKPOINT_DISTRIBUTED, true, false},
		{".safetensors", CHECKPOINT_SAFETENSORS, false, false},
		{".ckpt", CHECKPOINT_OTHER, false, false},
		{".pt", CHECKPOINT_TORCH, false, true},
		{".pth", CHECKPOINT_TORCH, false, true},
		{".npz", CHECKPOINT_NUMPY, false, true},
		{".npy", CHECKPOINT_NUMPY, false, true},
		{".msgpack", CHECKPOINT_MSGPACK, false, true},
		{".bin", CHECKPOINT_NONE, false, true},
		{".keras", CHECKPOINT_KERAS, false, false},
		{".h5", CHECKPOINT_KERAS, false, true},
		{".weights.h5", CHECKPOINT_KERAS, false, false},
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!checkpoint_name_part_ends(p, ends[i].end))
			continue;
		n->format = ends[i].format;
		n->folder = ends[i].folder;
		n->data = ends[i].data;
	}
	if (checkpoint_name_part_ends(p, ".ckpt") &&
	    (checkpoint_name_part_after(p, "epoch=") || checkpoint_name_part_after(p, "step=")))
		n->format = CHECKPOINT_LIGHTNING;
	if (checkpoint_name_part_begins(p, "pytorch_model") && checkpoint_name_part_ends(p, ".bin"))
		n->format = CHECKPOINT_HUGGINGFACE;
	if (checkpoint_name_part_is(p, ".metadata")) {
		n->format = CHECKPOINT_DISTRIBUTED;
		n->folder = n->last = true;
	}
	if (checkpoint_name_part_is(p, "_CHECKPOINT_METADATA") ||
	    checkpoint_name_part_is(p, "_METADATA") ||
	    checkpoint_name_part_is(p, "manifest.ocdbt")) {
		n->format = CHECKPOINT_ORBAX;
		n->folder = true;
		n->listed = checkpoint_name_part_is(p, "_CHECKPOINT_METADATA");
	}
	if (checkpoint_name_tensorflow_prefix(p))
		n->format = CHECKPOINT_TENSORFLOW;
	if (!n->format &&
	    (checkpoint_name_part_begins(p, "checkpoint") ||
	     checkpoint_name_part_begins(p, "ckpt")) &&
	    (!memchr(p.at, '.', p.len) || checkpoint_name_part_ends(p, ".bin")))
		n->format = CHECKPOINT_OTHER;
	/* Weights that are split over several files: "model-00001-of-00004.safetensors". */
	if (n->format == CHECKPOINT_SAFETENSORS && checkpoint_name_part_after(p, "-of-"))
		n->folder = true;
	/* Files named "checkpoint" or "ckpt" are not data of a data set. */
	if (checkpoint_name_part_after(p, "checkpoint") || checkpoint_name_part_after(p, "ckpt"))
		n->data = false;
}

/* Classifies a folder by its own name. up: how many levels the folder is above the file. */
static bool name_folder(struct part p, int up, struct checkpoint_name *n)
{
	struct part whole = p;
	bool temporary = checkpoint_name_part_temporary(&whole),
	     orbax = checkpoint_name_part_after(p, ORBAX_TEMPORARY);
	uint64_t step;

	if (orbax)
		n->format = CHECKPOINT_ORBAX;
	else if (!n->format && !n->data)
		return false;
	else if (checkpoint_name_part_begins(whole, "checkpoint-") &&
		 checkpoint_name_part_number(whole, 11, &step))
		n->format = n->format == CHECKPOINT_ORBAX ? n->format : CHECKPOINT_HUGGINGFACE;
	else if (!checkpoint_name_part_step(whole, &step) &&
		 !(n->folder && (up == 1 || n->format == CHECKPOINT_ORBAX) &&
		   (checkpoint_name_part_digits(whole) ||
		    checkpoint_name_part_ends(whole, ".ckpt"))))
		return false;
	n->folder = true;
	n->data = n->data && n->format == CHECKPOINT_NUMPY;
	n->temporary = n->temporary || temporary;
	n->numbered = checkpoint_name_part_step(whole, &n->step) ||
		      (checkpoint_name_part_digits(whole) &&
		       checkpoint_name_part_number(whole, 0, &n->step));
	return true;
}

static bool checkpoint_name_part_log(struct part p)
{
	static const char *const ends[] = {".jsonl", ".log", ".csv", ".tsv"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (checkpoint_name_part_ends(p, ends[i]))
			return true;
	return checkpoint_name_part_after(p, ".tfevents.");
}

/* Returns true for a "*.pth" file in a package folder of Python. Python reads such a file at each
 * start, as a list of folders; it is not a checkpoint. */
static bool checkpoint_name_path_of_python(const char *path, struct part file)
{
	struct part folder = checkpoint_name_part_last(
		path, file.at > path ? (size_t)(file.at - path) - 1 : 0);

	return checkpoint_name_part_ends(file, ".pth") &&
	       (checkpoint_name_part_is(folder, "site-packages") ||
		checkpoint_name_part_is(folder, "dist-packages"));
}

bool checkpoint_name_resumes(const struct checkpoint_name *n)
{
	switch (n->format) {
	case CHECKPOINT_NONE:
		return false;
	case CHECKPOINT_DISTRIBUTED:
	case CHECKPOINT_ORBAX:
	case CHECKPOINT_LIGHTNING:
	case CHECKPOINT_TENSORFLOW:
	case CHECKPOINT_OTHER:
		return !n->data;
	default:
		return !n->data && n->numbered;
	}
}

struct checkpoint_name checkpoint_name(const char *path)
{
	size_t len = strlen(path);
	struct part file = checkpoint_name_part_last(path, len), whole = file;
	struct checkpoint_name n = {.len = len}, found = {0};

	if (checkpoint_name_path_of_python(path, file))
		return n;
	n.temporary = checkpoint_name_part_temporary(&whole);
	name_file(whole, &n);
	n.log = checkpoint_name_part_log(file);
	/* If the checkpoint is a folder, a temporary name of one of its files does not make it
	 * temporary. */
	if (n.folder)
		n.temporary = false;
	n.numbered = checkpoint_name_part_step(whole, &n.step);
	if (n.format == CHECKPOINT_TENSORFLOW) {
		n.len = (size_t)(file.at - path) + checkpoint_name_tensorflow_prefix(whole);
		return n;
	}
	for (size_t end = (size_t)(file.at - path), up = 1; end > 1 && up <= FOLDERS; up++) {
		struct part folder = checkpoint_name_part_last(path, end - 1);
		struct checkpoint_name of = n;

		if (folder.len &&
		    (!found.len || checkpoint_name_part_after(folder, ORBAX_TEMPORARY)) &&
		    name_folder(folder, (int)up, &of)) {
			of.len = end - 1;
			found = of;
		}
		if (found.len && !checkpoint_name_part_after(
					 /* continue upwards: Orbax also gives this suffix to
					  * folders within a checkpoint's folder */
					 folder, ORBAX_TEMPORARY))
			return found;
		end = (size_t)(folder.at - path);
	}
	if (found.len)
		return found;
	/* The checkpoint has the name of the folder, not of the file. */
	if (n.folder && file.at - path > 1)
		n.len = (size_t)(file.at - path) - 1;
	return n;
}

uint64_t checkpoint_name_number(const char *path, uint64_t from, uint64_t to)
{
	struct part p = checkpoint_name_part_last(path, strlen(path));
	uint64_t best = 0, n;

	for (size_t i = 0; i < p.len; i++)
		if ((!i || !checkpoint_name_is_digit(p.at[i - 1])) &&
		    checkpoint_name_part_number(p, i, &n) && n >= from && n <= to && n > best)
			best = n;
	return best;
}

bool checkpoint_path_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	while (a_len && *a == '/')
		a++, a_len--;
	while (b_len && *b == '/')
		b++, b_len--;
	if (a_len > b_len)
		return checkpoint_path_same(b, b_len, a, a_len);
	if (!a_len || memcmp(a, b + b_len - a_len, a_len) != 0)
		return false;
	return a_len == b_len || b[b_len - a_len - 1] == '/';
}

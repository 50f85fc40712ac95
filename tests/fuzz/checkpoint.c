/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, and a table of checkpoints that lies are told to: what it keeps stays bounded,
 * comes back from its bytes the same, and is matched the same. */
#include <assert.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/model/job/checkpoint.h"

static void name_check(const char *path)
{
	struct checkpoint_name n = checkpoint_name(path);

	assert(n.len <= strlen(path));
	assert(n.format < CHECKPOINT_FORMATS);
	assert(!checkpoint_path_same(path, strlen(path), "", 0));
}

/* As model/ is given them: escaped. */
static void path_of(struct input *in, char *path)
{
	static const char *const parts[] = {
		"/",
		"a",
		"out/",
		"step_5",
		"5",
		"checkpoint-7",
		".tmp",
		".pt",
		".ckpt",
		".metadata",
		"x.distcp",
		".npz",
		"model.safetensors",
		"~",
		"..",
		".orbax-checkpoint-tmp-1",
		"default/d/",
		"ckpt-3.index",
		"-of-",
		"tmp-",
	};
	char raw[GP_PATH_MAX];
	size_t at = 0;

	for (uint8_t n = input_byte(in) % 8; n; n--) {
		uint8_t b = input_byte(in);
		char other[2] = {(char)input_byte(in), 0};
		const char *part = b < 0xc0 ? parts[b % (sizeof(parts) / sizeof(parts[0]))] : other;

		at += (size_t)snprintf(raw + at, GP_PATH_MAX - at, "%s", part);
		if (at >= GP_PATH_MAX)
			break;
	}
	raw[at < GP_PATH_MAX ? at : GP_PATH_MAX - 1] = '\0';
	name_check(raw);
	log_escape(path, GP_PATH_MAX, raw, sizeof(raw));
}

static struct checkpoint_file file_of(struct input *in)
{
	uint8_t b = input_byte(in);

	return (struct checkpoint_file){
		.dev = b & 1, .ino = b >> 1 & 7, .bytes = b >> 4, .mtime_ns = b >> 6};
}

/* The same bytes in, the same bytes out. */
static struct checkpoints *reloaded(struct checkpoints *c)
{
	struct buffer first = {0}, second = {0};
	struct checkpoints *back = NULL;
	struct archive a;

	archive_write(&a, &first, "gp-fuzzc", 1);
	checkpoints_archive(&a, &c);
	assert(!archive_end(&a));
	archive_read(&a, first.data, first.len, "gp-fuzzc", 1);
	checkpoints_archive(&a, &back);
	assert(!archive_end(&a));
	archive_write(&a, &second, "gp-fuzzc", 1);
	checkpoints_archive(&a, &back);
	assert(!archive_end(&a));
	assert(first.len == second.len && !memcmp(first.data, second.data, first.len));
	buffer_free(&first);
	buffer_free(&second);
	checkpoints_free(c);
	return back;
}

static void table_step(struct input *in, struct checkpoints *c, struct checkpoint_resume *r,
		       uint64_t now_ns)
{
	char path[GP_PATH_MAX], to[GP_PATH_MAX];
	struct checkpoint_write w = {
		.path = path, .pid = 1, .begin_ns = now_ns, .end_ns = now_ns + 5};
	struct checkpoint_match m;
	struct checkpoint_name n;
	uint64_t step;
	uint8_t b = input_byte(in);

	path_of(in, path);
	name_check(path);
	switch (b % 4) {
	case 0:
		w.file = file_of(in);
		w.likely = b & 128;
		assert(checkpoints_wrote(c, &w));
		checkpoints_before(c, checkpoints_wrote(c, &w), &step);
		break;
	case 1:
		path_of(in, to);
		checkpoints_renamed(c, 1, path, to, now_ns);
		break;
	case 2:
		checkpoints_stepped(c, &(struct checkpoint_span){1, 0, now_ns - b, now_ns}, b,
				    b & 1);
		break;
	default:
		w.file = file_of(in);
		n = checkpoint_name(path);
		checkpoint_resume_read(r, checkpoints_match(c, &w.file, path, &m) ? &m : NULL, path,
				       &n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct checkpoint_resume r = {0};
	struct checkpoints *c = checkpoints_new();
	struct checkpoint_match m;
	uint64_t now_ns = 1000;

	assert(c);
	while (input_left(&in))
		table_step(&in, c, &r, now_ns += 10);
	c = reloaded(c);
	m = checkpoint_resumed(&r, c, now_ns, 0);
	assert(m.how && m.how < CHECKPOINT_HOW_COUNT && m.confidence > 0 && m.confidence <= 1);
	checkpoints_free(c);
	return 0;
}

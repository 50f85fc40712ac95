/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint, checkpoint_name: names of each format, what was written, renamed, and read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "userspace/model/job/checkpoint.h"

#define S 1000000000ull

/* ---- names ----------------------------------------------------------------------------------- */

static void names_of_each_format(void **state)
{
	static const struct {
		const char *path;
		enum checkpoint_format format;
		const char *root; /* the path up to here; NULL: all of it */
		int64_t step;	  /* -1: none */
		bool temporary, folder, data, last;
	} names[] = {
		{"/out/model.pt", CHECKPOINT_TORCH, NULL, -1, false, false, true, false},
		{"/out/ckpt.pth", CHECKPOINT_TORCH, NULL, -1, false, false, false, false},
		{"/out/model.pt.tmp", CHECKPOINT_TORCH, NULL, -1, true, false, true, false},
		{"/out/model.pt.tmp.4711", CHECKPOINT_TORCH, NULL, -1, true, false, true, false},
		{"/out/model.pt~", CHECKPOINT_TORCH, NULL, -1, true, false, true, false},
		{"/out/model_step_300.pt", CHECKPOINT_TORCH, NULL, 300, false, false, true, false},
		{"/r/epoch=3-step=400.ckpt", CHECKPOINT_LIGHTNING, NULL, 400, false, false, false,
		 false},
		{"/r/last.ckpt", CHECKPOINT_OTHER, NULL, -1, false, false, false, false},
		{"/r/checkpoint-500/model.safetensors", CHECKPOINT_HUGGINGFACE, "/r/checkpoint-500",
		 500, false, true, false, false},
		{"/r/checkpoint-500/training_args.bin", CHECKPOINT_HUGGINGFACE, "/r/checkpoint-500",
		 500, false, true, false, false},
		{"/r/tmp-checkpoint-500/optimizer.pt", CHECKPOINT_HUGGINGFACE,
		 "/r/tmp-checkpoint-500", 500, true, true, false, false},
		{"pytorch_model.bin", CHECKPOINT_HUGGINGFACE, NULL, -1, false, false, true, false},
		{"/r/model-00001-of-00004.safetensors", CHECKPOINT_SAFETENSORS, "/r", -1, false,
		 true, false, false},
		{"/r/step_100/__0_0.distcp", CHECKPOINT_DISTRIBUTED, "/r/step_100", 100, false,
		 true, false, false},
		{"/r/step_100/.metadata", CHECKPOINT_DISTRIBUTED, "/r/step_100", 100, false, true,
		 false, true},
		{"/r/3/its/state_20/__0_0.distcp", CHECKPOINT_DISTRIBUTED, "/r/3/its/state_20", -1,
		 false, true, false, false},
		{"/r/last/__1_0.distcp", CHECKPOINT_DISTRIBUTED, "/r/last", -1, false, true, false,
		 false},
		{"/r/iter_0000100/mp_rank_00/model_optim_rng.pt", CHECKPOINT_TORCH,
		 "/r/iter_0000100", 100, false, true, false, false},
		{"/r/global_step30/mp_rank_00_model_states.pt", CHECKPOINT_TORCH,
		 "/r/global_step30", 30, false, true, false, false},
		{"/r/5.orbax-checkpoint-tmp-17/default/d/abcdef", CHECKPOINT_ORBAX,
		 "/r/5.orbax-checkpoint-tmp-17", 5, true, true, false, false},
		{"/r/5.orbax-checkpoint-tmp/default.orbax-checkpoint-tmp/ocdbt.process_0/manifest.ocdbt",
		 CHECKPOINT_ORBAX, "/r/5.orbax-checkpoint-tmp", 5, true, true, false, false},
		{"/r/5.orbax-checkpoint-tmp/default/_METADATA", CHECKPOINT_ORBAX,
		 "/r/5.orbax-checkpoint-tmp", 5, true, true, false, false},
		{"/r/5/_CHECKPOINT_METADATA", CHECKPOINT_ORBAX, "/r/5", 5, false, true, false,
		 false},
		{"/r/ckpt-7.data-00000-of-00001", CHECKPOINT_TENSORFLOW, "/r/ckpt-7", 7, false,
		 false, false, false},
		{"/r/v1.2/model-9.data-00001-of-00002", CHECKPOINT_TENSORFLOW, "/r/v1.2/model-9",
		 -1, false, false, false, false},
		{"/r/ckpt-1.5.index", CHECKPOINT_TENSORFLOW, "/r/ckpt-1.5", 1, false, false, false,
		 false},
		{"/r/words.index", CHECKPOINT_NONE, NULL, -1, false, false, false, false},
		{"/r/a.keras", CHECKPOINT_KERAS, NULL, -1, false, false, false, false},
		{"/r/a.weights.h5", CHECKPOINT_KERAS, NULL, -1, false, false, false, false},
		{"/r/images.h5", CHECKPOINT_KERAS, NULL, -1, false, false, true, false},
		{"/r/checkpoint_100", CHECKPOINT_OTHER, NULL, 100, false, false, false, false},
		{"/d/00017.npy", CHECKPOINT_NUMPY, NULL, -1, false, false, true, false},
		{"/d/ckpt_17.npz", CHECKPOINT_NUMPY, NULL, 17, false, false, false, false},
		{"/d/w.msgpack", CHECKPOINT_MSGPACK, NULL, -1, false, false, true, false},
		{"/d/train.bin", CHECKPOINT_NONE, NULL, -1, false, false, true, false},
		{"/d/a.ptx", CHECKPOINT_NONE, NULL, -1, false, false, false, false},
		{"/usr/lib/python3/os.py", CHECKPOINT_NONE, NULL, -1, false, false, false, false},
		{"/d/template.pt", CHECKPOINT_TORCH, NULL, -1, false, false, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct checkpoint_name n = checkpoint_name(names[i].path);
		const char *root = names[i].root ? names[i].root : names[i].path;

		print_message("%s\n", names[i].path);
		assert_string_equal(checkpoint_format_name[n.format],
				    checkpoint_format_name[names[i].format]);
		assert_int_equal(n.len, strlen(root));
		assert_int_equal(n.numbered, names[i].step >= 0);
		if (n.numbered)
			assert_int_equal(n.step, names[i].step);
		assert_int_equal(n.temporary, names[i].temporary);
		assert_int_equal(n.folder, names[i].folder);
		assert_int_equal(n.data, names[i].data);
		assert_int_equal(n.last, names[i].last);
	}
}

/* Weights, data and lists of Python's are read by runs that begin, too. */
static void names_that_a_run_goes_on_from(void **state)
{
	static const struct {
		const char *path;
		bool resumes;
	} names[] = {
		{"/venv/lib/python3.13/site-packages/distutils-precedence.pth", false},
		{"/usr/lib/python3/dist-packages/ckpt.pth", false},
		{"/hub/models--x/snapshots/1/model.safetensors", false},
		{"/hub/pytorch_model.bin", false},
		{"/data/shard-0001.pt", false},
		{"/weights/sam_vit_h.pth", false},
		{"/weights/base.weights.h5", false},
		{"/r/checkpoint-500/model.safetensors", true},
		{"/r/step_100/.metadata", true},
		{"/r/5/_CHECKPOINT_METADATA", true},
		{"/r/epoch=3-step=400.ckpt", true},
		{"/r/last.ckpt", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct checkpoint_name n = checkpoint_name(names[i].path);

		print_message("%s\n", names[i].path);
		assert_int_equal(checkpoint_name_resumes(&n), names[i].resumes);
	}
}

static void hostile_names(void **state)
{
	static const char *const names[] = {
		"",
		"/",
		"//",
		"///.tmp",
		".tmp",
		"~",
		"a//b.pt",
		"/checkpoint-",
		"checkpoint-99999999999999999999/x.pt",
		"step=/x.pt",
		"/.orbax-checkpoint-tmp",
		".metadata",
		"/.metadata",
		"ckpt",
		"tmp-",
		"x/.tmp/.tmp/x",
	};
	char path[GP_PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(checkpoint_name(names[i]).len <= strlen(names[i]));
		assert_false(checkpoint_path_same("", 0, names[i], strlen(names[i])));
	}
	for (int c = 1; c < 256; c++) { /* all of one character */
		memset(path, c, sizeof(path) - 1);
		path[sizeof(path) - 1] = '\0';
		assert_true(checkpoint_name(path).len <= strlen(path));
	}
}

static bool same(const char *a, const char *b)
{
	bool there = checkpoint_path_same(a, strlen(a), b, strlen(b));

	assert_int_equal(there, checkpoint_path_same(b, strlen(b), a, strlen(a)));
	return there;
}

static void ends_of_paths(void **state)
{
	(void)state;
	assert_true(same("/a/b.pt", "/a/b.pt"));
	assert_true(same("b.pt", "/a/b.pt"));
	assert_true(same("/srv/a/b.pt", "/mnt/srv/a/b.pt")); /* seen through a mount */
	assert_false(same("b.pt", "/a/xb.pt"));
	assert_false(same("/c/b.pt", "/a/b.pt"));
}

/* ---- what was written ------------------------------------------------------------------------ */

struct fix {
	struct checkpoints *c;
	uint64_t now_s, inode;
};

static struct fix fix_new(void)
{
	struct fix f = {checkpoints_new(), 100, 1000};

	assert_non_null(f.c);
	return f;
}

/* Another file; times and size follow from its number. */
static struct checkpoint_file file_of(uint64_t ino)
{
	return (struct checkpoint_file){
		.dev = 8, .ino = ino, .bytes = 10 * ino, .mtime_ns = ino * S, .generation = 3};
}

static const struct checkpoint *wrote(struct fix *f, const char *path)
{
	const struct checkpoint_write w = {
		.file = file_of(++f->inode),
		.path = path,
		.begin_ns = f->now_s * S,
		.end_ns = (f->now_s + 1) * S,
		.pid = 7,
	};

	f->now_s += 2;
	return checkpoints_wrote(f->c, &w);
}

static uint64_t step_of(struct fix *f, struct checkpoint_file file, const char *path,
			enum checkpoint_how how)
{
	struct checkpoint_match m = {0};

	if (!checkpoints_match(f->c, &file, path, &m)) {
		assert_int_equal(how, CHECKPOINT_BY_none);
		return 0;
	}
	assert_string_equal(checkpoint_how_name[m.how], checkpoint_how_name[how]);
	return m.step;
}

static void stepped(struct fix *f, uint64_t step)
{
	checkpoints_stepped(f->c,
			    &(struct checkpoint_span){7, 0, (f->now_s - 2) * S, (f->now_s - 1) * S},
			    step, false);
}

static void a_file_is_known_again(void **state)
{
	struct fix f = fix_new();
	struct checkpoint_file file;

	(void)state;
	assert_true(wrote(&f, "/out/a_100.pt")->whole);
	stepped(&f, 100);
	wrote(&f, "/out/a_200.pt");
	stepped(&f, 200);
	assert_int_equal(step_of(&f, file_of(1001), "/out/a_100.pt", CHECKPOINT_BY_inode), 100);
	assert_int_equal(step_of(&f, file_of(1002), "/elsewhere/x", CHECKPOINT_BY_inode), 200);
	file = file_of(1001); /* another file system: copied with its times */
	file.ino = 5;
	assert_int_equal(step_of(&f, file, "/mnt/out/a_100.pt", CHECKPOINT_BY_path), 100);
	assert_int_equal(step_of(&f, file, "/other/a_100.pt", CHECKPOINT_BY_copy), 100);
	file.mtime_ns++;
	assert_int_equal(step_of(&f, file, "/mnt/out/a_100.pt", CHECKPOINT_BY_size), 100);
	assert_int_equal(step_of(&f, file, "/other/a_100.pt", CHECKPOINT_BY_none), 0);
	file.bytes++;
	assert_int_equal(step_of(&f, file, "/mnt/out/a_100.pt", CHECKPOINT_BY_none), 0);
	file.ino = 1001;
	assert_int_equal(step_of(&f, file, "/mnt/out/a_100.pt", CHECKPOINT_BY_changed), 100);
	file.generation++; /* its inode was given to another file */
	assert_int_equal(step_of(&f, file, "/x", CHECKPOINT_BY_none), 0);
	checkpoints_free(f.c);
}

static void a_rename_makes_it_whole(void **state)
{
	struct fix f = fix_new();
	const struct checkpoint *k;

	(void)state;
	assert_true(wrote(&f, "/out/last.ckpt")->whole);
	stepped(&f, 10);
	assert_false(wrote(&f, "/out/last.ckpt.tmp")->whole);
	stepped(&f, 20);
	/* Until it is renamed the one before counts. */
	assert_int_equal(checkpoints_newest(f.c, UINT64_MAX)->step, 10);
	assert_null(checkpoints_renamed(f.c, 8, "last.ckpt.tmp", "last.ckpt",
					f.now_s * S)); /* another process's */
	k = checkpoints_renamed(f.c, 7, "last.ckpt.tmp", "last.ckpt", f.now_s * S);
	assert_non_null(k);
	assert_true(k->whole);
	assert_string_equal(k->path, "/out/last.ckpt");
	assert_int_equal(checkpoints_newest(f.c, UINT64_MAX)->step, 20);
	assert_int_equal(checkpoints_newest(f.c, 101 * S) == NULL,
			 true); /* what was written over is gone */
	assert_int_equal(step_of(&f, file_of(1002), "/out/last.ckpt", CHECKPOINT_BY_inode), 20);
	checkpoints_free(f.c);
}

static void a_chain_of_renames(void **state)
{
	struct fix f = fix_new();
	struct checkpoint_file file;

	(void)state;
	assert_false(wrote(&f, "srv/out/.x.npz.part")->whole);
	stepped(&f, 5);
	assert_non_null(checkpoints_renamed(f.c, 7, "out/.x.npz.part", "out/x.npz", 300 * S));
	assert_non_null(checkpoints_renamed(f.c, 7, "/mnt/srv/out/x.npz", "/mnt/srv/out/best.npz",
					    301 * S));
	assert_string_equal(checkpoints_newest(f.c, UINT64_MAX)->path, "/mnt/srv/out/best.npz");
	file = file_of(1001);
	file.ino = 1;
	assert_int_equal(step_of(&f, file, "/out/best.npz", CHECKPOINT_BY_path), 5);
	assert_null(checkpoints_renamed(f.c, 7, "out/.x.npz.part", "out/x.npz",
					302 * S)); /* it has no such name now */
	checkpoints_free(f.c);
}

static void folders_are_one_checkpoint(void **state)
{
	struct fix f = fix_new();
	const struct checkpoint *k;

	(void)state;
	for (int i = 0; i < 12; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/r/step_5/__%d_0.distcp", i);
		k = wrote(&f, path);
		assert_false(k->whole);
	}
	assert_int_equal(k->files, 12);
	assert_int_equal(k->number, 1);
	k = wrote(&f, "/r/step_5/.metadata.tmp");
	assert_int_equal(k->number, 1);
	k = checkpoints_renamed(f.c, 7, "/r/step_5/.metadata.tmp", "/r/step_5/.metadata",
				f.now_s * S);
	assert_non_null(k);
	assert_true(k->whole);
	assert_string_equal(k->path, "/r/step_5");
	stepped(&f, 5);
	assert_int_equal(step_of(&f, file_of(1013), "/r/step_5/.metadata", CHECKPOINT_BY_inode), 5);
	assert_int_equal(step_of(&f, file_of(1001), "/r/step_5/__0_0.distcp", CHECKPOINT_BY_inode),
			 5);
	/* Orbax renames the folder. */
	k = wrote(&f, "/r/6.orbax-checkpoint-tmp-1/default/d/aa");
	assert_false(k->whole);
	k = wrote(&f, "/r/6.orbax-checkpoint-tmp-1/default/_METADATA");
	assert_int_equal(k->number, 2);
	k = checkpoints_renamed(f.c, 7, "/r/6.orbax-checkpoint-tmp-1", "/r/6", f.now_s * S);
	assert_true(k && k->whole);
	assert_string_equal(k->path, "/r/6");
	assert_int_equal(k->named_step, 6);
	checkpoints_free(f.c);
}

static void memory_is_bounded(void **state)
{
	struct fix f = fix_new();
	char path[64];

	(void)state;
	for (int i = 0; i < 3 * CHECKPOINTS_MAX; i++) {
		snprintf(path, sizeof(path), "/out/%d.ckpt", i);
		assert_int_equal(wrote(&f, path)->number, i + 1);
	}
	assert_int_equal(step_of(&f, file_of(1001), "/x", CHECKPOINT_BY_none), 0);
	assert_int_equal(
		step_of(&f, file_of(1001 + 2 * CHECKPOINTS_MAX), "/x", CHECKPOINT_BY_inode), 0);
	assert_int_equal(
		step_of(&f, file_of(1000 + 3 * CHECKPOINTS_MAX), "/x", CHECKPOINT_BY_inode), 0);
	for (int i = 0; i < 3 * CHECKPOINTS_MAX;
	     i++) { /* what no checkpoint is takes their place from none */
		snprintf(path, sizeof(path), "/cache/%d.bin", i);
		wrote(&f, path);
	}
	assert_int_equal(
		step_of(&f, file_of(1000 + 3 * CHECKPOINTS_MAX), "/x", CHECKPOINT_BY_inode), 0);
	checkpoints_free(f.c);
}

/* ---- where a restart goes on from ------------------------------------------------------------ */

static void read_by(struct fix *f, struct checkpoint_resume *r, struct checkpoint_file file,
		    const char *path)
{
	struct checkpoint_name n = checkpoint_name(path);
	struct checkpoint_match m;

	checkpoint_resume_read(r, checkpoints_match(f->c, &file, path, &m) ? &m : NULL, path, &n);
}

static void resumed_by_what_was_read(void **state)
{
	struct checkpoint_resume r = {0};
	struct fix f = fix_new();
	struct checkpoint_match m;

	(void)state;
	wrote(&f, "/out/epoch=1-step=100.ckpt");
	stepped(&f, 100);
	wrote(&f, "/out/epoch=2-step=200.ckpt");
	stepped(&f, 200);
	m = checkpoint_resumed(&r, f.c, UINT64_MAX, 0);
	assert_int_equal(m.how, CHECKPOINT_BY_nothing);
	assert_int_equal(m.step, 0);
	assert_true(checkpoint_estimated(&m));
	read_by(&f, &r, file_of(1), "/base/epoch=9-step=900.ckpt"); /* not of this job */
	m = checkpoint_resumed(&r, f.c, UINT64_MAX, 0);
	assert_int_equal(m.how, CHECKPOINT_BY_nothing);
	read_by(&f, &r, file_of(2), "/copy/step=100.ckpt");
	assert_int_equal(checkpoint_resumed(&r, f.c, UINT64_MAX, r.unmatched).how,
			 CHECKPOINT_BY_nothing); /* the first run read it, too */
	m = checkpoint_resumed(&r, f.c, UINT64_MAX, 0);
	assert_int_equal(m.how, CHECKPOINT_BY_number);
	assert_int_equal(m.step, 100);
	assert_true(checkpoint_estimated(&m));
	read_by(&f, &r, file_of(1001), "/out/epoch=1-step=100.ckpt");
	m = checkpoint_resumed(&r, f.c, UINT64_MAX, 0);
	assert_int_equal(m.how, CHECKPOINT_BY_inode);
	assert_int_equal(m.step, 100);
	assert_false(checkpoint_estimated(&m));
	assert_int_equal((int)(m.confidence * 100), 100);
	read_by(&f, &r, file_of(1002), "/out/epoch=2-step=200.ckpt"); /* the newest of them */
	assert_int_equal(checkpoint_resumed(&r, f.c, UINT64_MAX, 0).step, 200);
	assert_int_equal(checkpoint_resumed(&r, NULL, 0, 0).step, 200);
	checkpoints_free(f.c);
}

static void state_comes_back(void **state)
{
	struct checkpoint_resume r = {0};
	struct checkpoints *back = NULL;
	struct buffer out = {0};
	struct fix f = fix_new();
	struct archive a;

	(void)state;
	wrote(&f, "/out/a.ckpt");
	stepped(&f, 1);
	wrote(&f, "/r/step_5/__0_0.distcp");
	read_by(&f, &r, file_of(1001), "/x");
	archive_write(&a, &out, "gp-check", 1);
	checkpoints_archive(&a, &f.c);
	checkpoint_resume_archive(&a, &r);
	assert_int_equal(archive_end(&a), 0);
	checkpoints_free(f.c);
	memset(&r, 0, sizeof(r));
	archive_read(&a, out.data, out.len, "gp-check", 1);
	checkpoints_archive(&a, &back);
	checkpoint_resume_archive(&a, &r);
	assert_int_equal(archive_end(&a), 0);
	f.c = back;
	assert_int_equal(step_of(&f, file_of(1001), "/x", CHECKPOINT_BY_inode), 1);
	assert_int_equal(r.best.step, 1);
	assert_int_equal(wrote(&f, "/out/b.ckpt")->number, 3);
	checkpoints_free(back);
	buffer_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_each_format),
		cmocka_unit_test(names_that_a_run_goes_on_from),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(ends_of_paths),
		cmocka_unit_test(a_file_is_known_again),
		cmocka_unit_test(a_rename_makes_it_whole),
		cmocka_unit_test(a_chain_of_renames),
		cmocka_unit_test(folders_are_one_checkpoint),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(resumed_by_what_was_read),
		cmocka_unit_test(state_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

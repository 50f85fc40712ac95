/* SPDX-License-Identifier: Apache-2.0 */
/* Files of watched processes as the kernel side tells them. Needs root. */
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/unit/probed.h"

static char folder[] = "/tmp/loader_file_XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[8][GP_PATH_MAX];
	static int next;
	char *ret = path[next++ % 8];

	snprintf(ret, sizeof(path[0]), "%s/%s", folder, name);
	return ret;
}

/* In a child: what goes wrong shows in what is not told. */
static void file_write(const char *name, size_t bytes, bool rename_open)
{
	static const char page[4096];
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (size_t n = 0; n < bytes; n += sizeof(page))
		if (write(fd, page, bytes - n < sizeof(page) ? bytes - n : sizeof(page)) < 0)
			_exit(9);
	if (rename_open)
		rename(in_folder(name), in_folder("renamed.pt"));
	close(fd);
}

static void file_read(const char *name)
{
	close(open(in_folder(name), O_RDONLY));
}

/* Next file record of the process; its path ends so. */
static const struct gp_file *file_next(const struct watch *w, size_t *pos, unsigned int op,
				       const char *name)
{
	char path[GP_PATH_MAX];
	struct event ev;

	assert_true(record_next(w, pos, GP_KIND_file, &ev));
	assert_int_equal(ev.file->op, op);
	snprintf(path, sizeof(path), "%s/%s", strrchr(folder, '/') + 1, name);
	assert_true(strlen(ev.file->path) >= strlen(path));
	assert_string_equal(ev.file->path + strlen(ev.file->path) - strlen(path), path);
	return ev.file;
}

static size_t files_count(const struct watch *w, pid_t pid)
{
	return records_count(w, GP_KIND_file, NULL, pid);
}

static void body_saves(void)
{
	file_write("small.log", 100, false);
	file_write("w.safetensors", 5000, false);
	file_write("large", 70000, false);
	if (rename(in_folder("large"), in_folder("x.npz")))
		_exit(9);
	if (chdir(folder) || rename("x.npz", "step_7"))
		_exit(9);
	rename("missing", "x");
	file_write("open.tmp", 10, true);
	file_read("step_7");
	file_read("small.log");
	file_read("/../../etc/passwd");
	_exit(0);
}

static void a_save_is_told(void **state)
{
	const struct gp_file *f;
	struct stat st;
	struct event ev;
	struct watch *w;
	struct child c;
	size_t pos = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_saves);
	assert_int_equal(child_run(&c), 0);
	watch_collect(w);
	f = file_next(w, &pos, GP_FILE_WRITTEN, "w.safetensors");
	assert_int_equal(f->flags, GP_FILE_NAMED);
	assert_int_equal(f->bytes, 5000);
	assert_int_equal(stat(in_folder("w.safetensors"), &st), 0);
	assert_int_equal(f->ino, st.st_ino);
	assert_int_equal(f->mtime_ns,
			 st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec);
	assert_true(f->since_ns > 0);
	assert_true(f->born_ns > 0 && f->born_ns < f->since_ns);
	f = file_next(w, &pos, GP_FILE_WRITTEN, "large");
	assert_int_equal(f->flags, 0);
	assert_int_equal(f->bytes, 70000);
	file_next(w, &pos, GP_FILE_WRITTEN, "renamed.pt"); /* as it was called when it was closed */
	f = file_next(w, &pos, GP_FILE_OPENED, "step_7");
	assert_int_equal(f->flags, GP_FILE_KNOWN);
	assert_int_equal(f->bytes, 70000);
	assert_int_equal(stat(in_folder("step_7"), &st), 0);
	assert_int_equal(f->ino, st.st_ino);
	file_next(w, &pos, GP_FILE_READ, "step_7");
	assert_false(record_next(w, &pos, GP_KIND_file, &ev));
	pos = 0;
	assert_true(record_next(w, &pos, GP_KIND_renamed, &ev));
	assert_string_equal(ev.renamed->from, in_folder("large"));
	assert_string_equal(ev.renamed->to, in_folder("x.npz"));
	assert_true(record_next(w, &pos, GP_KIND_renamed, &ev));
	assert_string_equal(ev.renamed->from, "x.npz");
	assert_string_equal(ev.renamed->to, "step_7");
	assert_true(record_next(w, &pos, GP_KIND_renamed, &ev));
	assert_false(record_next(w, &pos, GP_KIND_renamed, &ev));
	assert_int_equal(w->losses[GP_LOSS_file_limited], 0);
	watch_close(w);
}

#define DEEP                                                                                       \
	8 /* folders in one another, from two parts on: one path is as long as paths are told      \
	     whole */

static unsigned int parts_of(const char *path)
{
	unsigned int n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static void body_names(void)
{
	static const char *const names[] = {
		"a.pt",
		"a.pth",
		"pytorch_model.bin",
		"a.npy",
		"a.npz",
		"epoch=1-step=5.ckpt",
		"__0_0.distcp",
		".metadata",
		"_CHECKPOINT_METADATA",
		".pt",
		"checkpoint",
		"model.safetensors",
		"w.msgpack",
		"ckpt-1",
		"ckpt-1.index",
		"manifest.ocdbt",
		"a.keras",
		"a.weights.h5",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		file_write(names[i], 1, false);
	file_write("a.txt", 1, false); /* none of these */
	file_write("pt", 1, false);
	file_write("a.ptx", 1, false);
	file_write("METADATA", 1, false);
	file_write("metadata", 1, false);
	file_write("checkpoint.py", 1, false);
	file_write("ckpt.cpython-313.pyc", 1, false);
	if (chdir(folder))
		_exit(9);
	for (int i = 0; i < DEEP; i++) {
		if (mkdir("eeee", 0700) || chdir("eeee"))
			_exit(9);
		close(open("in.pt", O_WRONLY | O_CREAT, 0600));
	}
	if (chdir(folder))
		_exit(9);
	for (int i = 0; i < 12; i++)
		if (mkdir("dddddddddddddddddddddddddddddd", 0700) ||
		    chdir("dddddddddddddddddddddddddddddd"))
			_exit(9);
	close(open("deep.pt", O_WRONLY | O_CREAT, 0600));
	_exit(0);
}

static void names_choose(void **state)
{
	unsigned int whole = 0;
	struct event ev;
	struct watch *w;
	struct child c;
	size_t pos = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_names);
	assert_int_equal(child_run(&c), 0);
	watch_collect(w);
	assert_int_equal(files_count(w, c.pid), 19 + DEEP);
	for (int i = 0; i < 18; i++)
		assert_true(record_next(w, &pos, GP_KIND_file, &ev));
	for (int i = 0; i < DEEP; i++) {
		assert_true(record_next(w, &pos, GP_KIND_file, &ev));
		if (*ev.file->path == '/')
			whole = parts_of(ev.file->path);
	}
	assert_int_equal(whole, 8);
	assert_true(record_next(w, &pos, GP_KIND_file, &ev));
	/* Of a path the last parts, whole ones. */
	assert_string_equal(ev.file->path + strlen(ev.file->path) - 8, "/deep.pt");
	assert_int_equal(strncmp(ev.file->path, "dddddddddddddddddddddddddddddd/", 31), 0);
	watch_close(w);
}

#define FLOOD 2000

static void body_flood(void)
{
	char name[32];

	for (int i = 0; i < FLOOD; i++) {
		snprintf(name, sizeof(name), "%d.npy", i);
		file_read(name);
	}
	_exit(0);
}

/* A data set of files that could be checkpoints, which no watched process wrote: bounded, and not a
 * loss. */
static void a_flood_of_data_is_bounded(void **state)
{
	char name[32];
	struct watch *w;
	struct child c;
	size_t told;

	(void)state;
	need_root();
	for (int i = 0; i < FLOOD; i++) {
		snprintf(name, sizeof(name), "%d.npy", i);
		file_write(name, 1, false);
	}
	w = watch_open(NULL);
	c = child_start(w, body_flood);
	assert_int_equal(child_run(&c), 0);
	watch_collect(w);
	told = files_count(w, c.pid);
	assert_in_range(told, 128, FLOOD);
	assert_int_equal(w->losses[GP_LOSS_file_limited], 0);
	watch_close(w);
}

static void body_flood_of_checkpoints(void)
{
	for (int i = 0; i < FLOOD; i++)
		file_write("again.npy", 1, false);
	_exit(0);
}

static void a_flood_of_checkpoints_is_counted(void **state)
{
	struct watch *w;
	struct child c;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_flood_of_checkpoints);
	assert_int_equal(child_run(&c), 0);
	watch_collect(w);
	assert_int_equal(files_count(w, c.pid) + w->losses[GP_LOSS_file_limited] +
				 w->losses[GP_LOSS_ring_life],
			 FLOOD);
	watch_close(w);
}

static void without_the_feature_nothing_is_told(void **state)
{
	struct watch *w;
	struct child c;

	(void)state;
	need_root();
	w = watch_open("file");
	c = child_start(w, body_saves);
	assert_int_equal(child_run(&c), 0);
	watch_collect(w);
	assert_int_equal(files_count(w, 0), 0);
	assert_int_equal(records_count(w, GP_KIND_exit, NULL, c.pid), 1);
	watch_close(w);
}

static void folder_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		perror(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_save_is_told),
		cmocka_unit_test(names_choose),
		cmocka_unit_test(a_flood_of_data_is_bounded),
		cmocka_unit_test(a_flood_of_checkpoints_is_counted),
		cmocka_unit_test(without_the_feature_nothing_is_told),
	};
	int failed;

	if (probed_setup() || !mkdtemp(folder))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	folder_remove();
	return failed;
}

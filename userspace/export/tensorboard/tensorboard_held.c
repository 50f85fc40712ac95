/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/tensorboard/tensorboard_held.h"

#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <proto/tensorboard_event.pb-c.h>

#include "userspace/base/grow.h"
#include "userspace/base/hash.h"
#include "userspace/base/table.h"
#include "userspace/export/tensorboard/tensorboard_folder.h"

#define TAIL_BYTES (1u << 20)
#define HEAD	   12 /* bytes at the start of a record: its length, and the CRC of the length */
#define FILES_MAX  64
#define HELD_MAX   (1u << 20)
/* a scalar is a repetition of one with the same tag and step if their wall times differ by less
 * (s) */
#define SAME_S 1.0

struct held {
	uint64_t key; /* hash of tag and step */
	double wall_s;
};

struct held_run {
	struct held *item;
	uint32_t count, cap;
};

struct tb_held {
	int folder;
	struct table *runs; /* maps the hash of a run's name to the run's scalars */
};

struct tb_held *tb_held_new(int folder)
{
	struct tb_held *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->folder = folder;
	h->runs = table_new();
	if (h->runs)
		return h;
	free(h);
	return NULL;
}

void tb_held_free(struct tb_held *h)
{
	struct held_run *r;
	uint64_t key;

	if (!h)
		return;
	for (size_t at = 0; (r = table_next(h->runs, &at, &key));) {
		table_take(h->runs, key);
		free(r->item);
		free(r);
	}
	table_free(h->runs, NULL);
	free(h);
}

static uint64_t held_key_of(const char *tag, int64_t step)
{
	return hash_bytes(hash_bytes(HASH_START, tag, strlen(tag)), &step, sizeof(step));
}

static void tb_held_add(struct held_run *r, const char *data, size_t len)
{
	Tb__Event *e = tb__event__unpack(NULL, len, (const uint8_t *)data);
	struct held *item;

	if (!e)
		return;
	if (e->what_case == TB__EVENT__WHAT_SUMMARY) {
		for (size_t i = 0; i < e->summary->n_value; i++) {
			item = grow_items(r->item, &r->cap, r->count + 1, HELD_MAX, sizeof(*item));
			if (!item)
				break;
			r->item = item;
			r->item[r->count++] = (struct held){
				held_key_of(e->summary->value[i]->tag, e->step), e->wall_time};
		}
	}
	tb__event__free_unpacked(e, NULL);
}

/* Returns the size of the record that begins at data; 0: not a whole, valid record. */
static size_t tb_held_record_at(const char *data, size_t len)
{
	uint64_t size;
	uint32_t crc;

	if (len < TB_FRAME)
		return 0;
	memcpy(&size, data, sizeof(size));
	memcpy(&crc, data + sizeof(size), sizeof(crc));
	size = le64toh(size);
	if (size > len - TB_FRAME || le32toh(crc) != tb_masked(tb_crc32c(data, sizeof(size))))
		return 0;
	return (size_t)size + TB_FRAME;
}

static void tb_held_read_file(struct held_run *r, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = malloc(TAIL_BYTES);
	struct stat st;
	ssize_t n = 0;
	size_t one;

	if (fd >= 0 && text && !fstat(fd, &st) && S_ISREG(st.st_mode))
		n = pread(fd, text, TAIL_BYTES,
			  st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
	for (size_t at = 0; n > 0 && at < (size_t)n; at += one ? one : 1) {
		one = tb_held_record_at(text + at, (size_t)n - at);
		if (one)
			tb_held_add(r, text + at + HEAD, one - TB_FRAME);
	}
	if (fd >= 0)
		close(fd);
	free(text);
}

/* Opens the folder of a run, without following links. Returns a descriptor; -1: cannot be opened.
 */
static int tb_held_folder(int folder, const char *run)
{
	int at = dup(folder), next;
	char name[TB_NAME_MAX];
	size_t len;

	for (; *run && at >= 0; run += len, run += *run == '/', at = next) {
		len = strcspn(run, "/");
		next = -1;
		if (len && len < sizeof(name)) {
			memcpy(name, run, len);
			name[len] = '\0';
			next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		}
		close(at);
	}
	return at;
}

static int tb_held_by_key(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static void tb_held_read_run(struct held_run *r, int folder, const char *run)
{
	int fd = tb_held_folder(folder, run), files = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	while (dir && files < FILES_MAX && (e = readdir(dir))) {
		if (strncmp(e->d_name, "events.out.tfevents.", 20) != 0)
			continue;
		tb_held_read_file(r, fd, e->d_name);
		files++;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (r->count)
		qsort(r->item, r->count, sizeof(*r->item), tb_held_by_key);
}

bool tb_held_has(struct tb_held *h, const char *run, const struct tb_scalar *s)
{
	uint64_t name = hash_bytes(HASH_START, run, strlen(run)),
		 key = held_key_of(s->tag, s->step);
	struct held_run *r = table_get(h->runs, name);
	uint32_t low = 0, high;

	if (!r) {
		r = calloc(1, sizeof(*r));
		if (!r)
			return false;
		if (table_put(h->runs, name, r)) {
			free(r);
			return false;
		}
		tb_held_read_run(r, h->folder, run);
	}
	for (high = r->count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (r->item[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < r->count && r->item[low].key == key; low++)
		if (fabs(r->item[low].wall_s - s->wall_s) < SAME_S)
			return true;
	return false;
}

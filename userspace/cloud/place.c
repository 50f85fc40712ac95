/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/cloud/place.h"

#include <errno.h>
#include <string.h>

#include "userspace/cloud/metadata.h"

#define PLACE_MS 3000 /* time limit of each request in ms, as in gcp-metadata */

/* Copies a value that is one word; any other value becomes "". last: the value is a path; copy only
 * its last part. */
static void place_word(const struct buffer *body, bool last, char *out, size_t cap)
{
	const char *text = body->data ? body->data : "", *slash;
	size_t len = body->len;

	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	slash = last ? memrchr(text, '/', len) : NULL;
	if (slash) {
		len -= (size_t)(slash + 1 - text);
		text = slash + 1;
	}
	out[0] = '\0';
	if (len >= cap)
		return;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return;
	memcpy(out, text, len);
	out[len] = '\0';
}

int place_ask(struct web *web, struct google_place *ret)
{
	struct google_place p = {0};
	const struct {
		const char *path;
		char *out;
		size_t cap;
		bool last;
	} rows[] = {
		{"project/project-id", p.project, sizeof(p.project), false},
		{"instance/zone", p.zone, sizeof(p.zone), true},
		{"instance/id", p.instance_id, sizeof(p.instance_id), false},
		{"instance/name", p.instance_name, sizeof(p.instance_name), false},
		{"instance/machine-type", p.machine_type, sizeof(p.machine_type), true},
		{"instance/attributes/cluster-name", p.cluster, sizeof(p.cluster), false},
		{"instance/attributes/cluster-location", p.location, sizeof(p.location), false},
		{"instance/attributes/accelerator-type", p.tpu_type, sizeof(p.tpu_type), false},
		{"instance/attributes/agent-worker-number", p.tpu_worker, sizeof(p.tpu_worker),
		 false},
	};
	struct web_reply r = {0};
	char why[256];
	int err = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err = metadata_get(web, rows[i].path, PLACE_MS, &r, why, sizeof(why));
		if (!err)
			place_word(&r.body, rows[i].last, rows[i].out, rows[i].cap);
		/* this value is missing or refused; others may exist */
		if (err == -ENODATA || err == -EACCES)
			err = 0;
		if (err)
			break;
	}
	web_reply_free(&r);
	if (err)
		return err;
	if (!p.cluster[0] || !p.location[0])
		memcpy(p.location, p.zone, sizeof(p.location));
	*ret = p;
	return 0;
}

const char *google_accelerator(const char *machine_type)
{
	/* The order is that of the goodput library. The first match counts, and "ct5lp" contains
	 * "ct5l". */
	static const struct {
		const char *part, *name;
	} rows[] = {
		{"tpu7x", "TPU-7x"},
		{"ct6e", "TPU-v6e"},
		{"ct5p", "TPU-v5p"},
		{"ct5lp", "TPU-v5e"},
		{"ct5l", "TPU-v5e"},
		{"ct4p", "TPU-v4p"},
		{"ct3p", "TPU-v3"},
		{"ct3", "TPU-v3"},
		{"a3-edgegpu", "NVIDIA-H100"},
		{"a3-highgpu", "NVIDIA-H100"},
		{"a3-megagpu", "NVIDIA-H100"},
		{"a3-ultragpu", "NVIDIA-H200"},
		{"a2", "NVIDIA-A100"},
		{"gpu", "GPU"},
	};

	for (size_t i = 0; machine_type && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(machine_type, rows[i].part))
			return rows[i].name;
	return "UNKNOWN";
}

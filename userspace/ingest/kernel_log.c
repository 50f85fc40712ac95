/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/ingest/kernel_log.h"

#include <string.h>

#define LINE_MAX_BYTES 512 /* bytes of a log line that are scanned; the rest is ignored */

static const char *log_skip(const char *text, const char *begin)
{
	size_t len = strlen(begin);

	return text && !strncmp(text, begin, len) ? text + len : NULL;
}

/* Reads a decimal number. Returns false if there is none, or if it is too large to be an error code
 * or pid. */
static bool log_number(const char **at, uint32_t *ret)
{
	const char *p = *at;
	uint32_t n = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (n > 100000000)
			return false;
		n = 10 * n + (uint32_t)(*p - '0');
	}
	if (p == *at)
		return false;
	*at = p;
	*ret = n;
	return true;
}

static void log_put(char *out, size_t size, const char *text, size_t len)
{
	len = len < size ? len : size - 1;
	memcpy(out, text, len);
	out[len] = '\0';
}

/* Parses "pid=1234, name=python, text" and returns the position of the text. pid and name are
 * '<unknown>' if the driver does not know the process. */
static const char *kernel_log_xid_process(const char *at, uint32_t *ret_pid)
{
	const char *next = log_skip(at, "pid="), *name;

	if (!next)
		return at;
	next += *next == '\'';
	if (!log_number(&next, ret_pid))
		*ret_pid = 0;
	next = strstr(next, ", ");
	if (!next)
		return "";
	name = log_skip(next, ", name=");
	if (!name)
		return next + 2;
	next = strstr(name, ", ");
	return next ? next + 2 : "";
}

/* Parses "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus." */
static bool log_parse_xid(const char *text, struct gp_fault *ret, uint32_t *ret_pid)
{
	const char *device = log_skip(text, "NVRM: Xid ("), *end;
	uint32_t code;

	end = device ? strstr(device, "): ") : NULL;
	if (!end)
		return false;
	text = end + 3;
	if (!log_number(&text, &code))
		return false;
	*ret = (struct gp_fault){.code = code, .driver = "NVRM"};
	log_put(ret->device, sizeof(ret->device), device, (size_t)(end - device));
	text = *text == ',' ? text + 1 : text;
	text = *text == ' ' ? text + 1 : text;
	text = kernel_log_xid_process(text, ret_pid);
	log_put(ret->text, sizeof(ret->text), text, strlen(text));
	return true;
}

static bool kernel_log_amd_fault(const char *text)
{
	static const char *const words[] = {"page fault (", "GPU reset begin",
					    "uncorrectable hardware errors detected"};
	const char *ring = strstr(text, "ring ");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strstr(text, words[i]))
			return true;
	}
	return ring && strstr(ring, " timeout");
}

/* Parses "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, ..."; older kernels:
 * "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, ..." */
static bool log_parse_amd(const char *text, struct gp_fault *ret, uint32_t *ret_pid)
{
	const char *at = log_skip(text, "amdgpu "), *end = at ? strstr(at, ": ") : NULL, *process;

	if ((!end && !log_skip(text, "[drm:amdgpu")) || !kernel_log_amd_fault(text))
		return false;
	*ret = (struct gp_fault){.code = -1, .driver = "amdgpu"};
	if (end) {
		log_put(ret->device, sizeof(ret->device), at, (size_t)(end - at));
		text = end + 2;
		text = log_skip(text, "amdgpu: ") ? log_skip(text, "amdgpu: ") : text;
	}
	log_put(ret->text, sizeof(ret->text), text, strlen(text));
	process = strstr(text, "process ");
	process = process ? strstr(process, " pid ") : NULL;
	if (process) {
		process += 5;
		if (!log_number(&process, ret_pid))
			*ret_pid = 0;
	}
	return true;
}

bool kernel_log_parse(const char *line, size_t len, struct gp_fault *ret, uint32_t *ret_pid)
{
	char text[LINE_MAX_BYTES];
	const char *at = text;
	uint32_t priority;

	log_put(text, sizeof(text), line, len);
	*ret_pid = 0;
	/* lines with another syslog facility than 0 are not from the kernel */
	if (!log_number(&at, &priority) || *at != ',' || priority >> 3)
		return false;
	at = strchr(at, ';');
	return at && (log_parse_xid(at + 1, ret, ret_pid) || log_parse_amd(at + 1, ret, ret_pid));
}

unsigned kernel_log_read(const char *data, size_t len, kernel_log_fn *fn, void *ctx)
{
	const char *end = data + len;
	struct gp_fault fault;
	unsigned lines = 0;
	uint32_t pid;

	while (data < end) {
		const char *stop = memchr(data, '\n', (size_t)(end - data));

		stop = stop ? stop : end;
		if (kernel_log_parse(data, (size_t)(stop - data), &fault, &pid))
			fn(ctx, pid, &fault);
		data = stop + 1;
		lines++;
	}
	return lines;
}

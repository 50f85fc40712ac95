/* SPDX-License-Identifier: Apache-2.0 */
/* pods_told NODE SERVER TOKEN_FILE CA_FILE: says what userspace/kubernetes tells of a node, as
 * lines of JSON, until its input ends. pods_told --successor NAMESPACE/POD SERVER TOKEN_FILE
 * CA_FILE: whether another pod comes after that one. pods_told --carry NAMESPACE SERVER TOKEN_FILE
 * CA_FILE JOB UID KIND NODE ATTEMPT: leaves that there of the job (of that kind, in that
 * namespace), and says what is there. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/json_text.h"
#include "userspace/kubernetes/pods_private.h"
#include "userspace/handover/successor.h"
#include "userspace/handover/carry_map.h"

static void say(struct buffer *line)
{
	puts(line->data ? line->data : "");
	fflush(stdout);
	buffer_free(line);
}

static void say_pod(void *ctx, const struct pod *pod)
{
	struct buffer b = {0};

	(void)ctx;
	json_open(&b, NULL, '{');
	json_string(&b, "type", "pod");
	json_string(&b, "name", pod->name);
	json_string(&b, "uid", pod->uid);
	json_string(&b, "owner", pod->owner);
	json_string(&b, "job", pod->job);
	json_string(&b, "job_uid", pod->job_uid);
	json_int(&b, "rank", pod->rank);
	json_int(&b, "attempt", pod->attempt);
	json_string(&b, "phase", pod->phase);
	json_string(&b, "reason", pod->reason);
	json_time(&b, "created", pod->created_ns);
	json_time(&b, "scheduled", pod->scheduled_ns);
	json_time(&b, "ready", pod->ready_ns);
	json_time(&b, "deleted", pod->deleted_ns);
	json_bool(&b, "gone", pod->gone);
	json_uint(&b, "containers", pod->ncontainers);
	json_close(&b, '}');
	say(&b);
}

static void say_notice(void *ctx, const struct gp_notice *n)
{
	static const char *const names[] = {
#define X(id, name) [id] = #name,
		GP_NOTICES(X)
#undef X
	};
	struct buffer b = {0};

	(void)ctx;
	json_open(&b, NULL, '{');
	json_string(&b, "type", "notice");
	json_string(&b, "what", names[n->what]);
	json_bool(&b, "over", n->over);
	json_string(&b, "pod_uid", n->pod_uid);
	json_string(&b, "text", n->text);
	json_close(&b, '}');
	say(&b);
}

static void say_view(const struct pods_view *v)
{
	struct buffer b = {0};

	json_open(&b, NULL, '{');
	json_string(&b, "type", "view");
	json_bool(&b, "current", v->current);
	json_uint(&b, "pods", v->pods);
	json_uint(&b, "lists", v->lists);
	json_string(&b, "trouble", v->trouble);
	json_close(&b, '}');
	say(&b);
}

static int say_successor(char **argv)
{
	char *slash = strchr(argv[0], '/'), why[400] = "";
	struct successor_config cfg = {
		.server = argv[1], .token_file = argv[2], .ca_file = argv[3], .namespace = argv[0]};
	struct successor *s;
	bool comes;

	if (!slash)
		return 1;
	*slash = '\0';
	cfg.pod = slash + 1;
	if (successor_new(&s, &cfg) || !s)
		return 1;
	comes = successor_comes(s, why, sizeof(why));
	puts(comes ? "it comes" : why);
	successor_free(s);
	return 0;
}

static int say_carried(char **argv)
{
	struct carry_map_config cfg = {
		.namespace = argv[0], .server = argv[1], .token_file = argv[2], .ca_file = argv[3]};
	struct carry c = {.attempt = (uint32_t)strtoul(argv[8], NULL, 10),
			  .until_ns = clock_real_ns()},
		     had;
	struct carry_map_job job = {0};
	struct carry_map *m;
	const void *answer;
	ssize_t n;

	snprintf(job.namespace, sizeof(job.namespace), "%s", argv[0]);
	snprintf(job.job, sizeof(job.job), "%s", argv[4]);
	snprintf(job.uid, sizeof(job.uid), "%s", argv[5]);
	snprintf(job.owner, sizeof(job.owner), "%s", argv[6]);
	snprintf(c.node, sizeof(c.node), "%s", argv[7]);
	memcpy(c.job, job.job, sizeof(c.job));
	memcpy(c.uid, job.uid, sizeof(c.uid));
	c.run_ns = c.until_ns;
	if (carry_map_new(&m, &cfg) || !m || carry_map_write(m, &job, &c))
		return 1;
	n = carry_map_answer(m, 60000, &answer);
	if (n && n != -ESTALE)
		printf("%s: ", n == -ENOTUNIQ ? "not ours" : carry_map_why(m));
	n = carry_map_read(m, &job) ? -EAGAIN : carry_map_answer(m, 60000, &answer);
	if (n > 0 && !carry_parse(&had, answer, (size_t)n))
		printf("attempt %u of node %s\n", had.attempt, had.node);
	else
		puts("nothing");
	carry_map_free(m);
	return 0;
}

int main(int argc, char **argv)
{
	const struct pods_intervals pace = {.backoff = {100000000, 1000000000, 10000000, 0},
					    .watch_s = 300,
					    .watch_grace_s = 15,
					    .list_s = 60,
					    .token_s = 60,
					    .kubelet_s = 10,
					    .metadata_s = 5};
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	struct pods_view view, before = {0};
	struct pods *p;

	if (argc == 6 && !strcmp(argv[1], "--successor"))
		return say_successor(argv + 2);
	if (argc == 11 && !strcmp(argv[1], "--carry"))
		return say_carried(argv + 2);
	if (argc != 5 ||
	    pods_open_with_intervals(&p,
				     &(struct pods_config){.node = argv[1],
							   .server = argv[2],
							   .token_file = argv[3],
							   .ca_file = argv[4]},
				     &pace) ||
	    !p)
		return 1;
	while (!poll(&in, 1, 20)) {
		pods_changes(p, say_pod, NULL);
		pods_notices(p, say_notice, NULL);
		pods_get_view(p, &view);
		if (view.current != before.current || view.lists != before.lists ||
		    view.pods != before.pods || strcmp(view.trouble, before.trouble) != 0)
			say_view(&view);
		before = view;
	}
	pods_close(p);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/export/tensorboard/tensorboard_log.h"

#include <errno.h>

#include "userspace/base/log.h"
#include "userspace/export/tensorboard/tensorboard_job.h"
#include "userspace/ingest/goodput_names.h"

int tensorboard_log_check(const char *arg, const struct export_options *opt, struct export_log *log)
{
	if (!arg || !*arg) {
		log_error("--export tensorboard: no folder given; use tensorboard:DIR");
		return -EINVAL;
	}
	if (opt->dry_run || log->follow) {
		log_error(
			"account --export tensorboard cannot be used with --dry-run or --follow: it writes figures for one time (--now)");
		return -EINVAL;
	}
	return 0;
}

int tensorboard_log_write(const char *arg, const struct export_options *opt,
			  const struct export_log *log)
{
	struct tb_board *board;
	int err = tb_board_open(&board, arg, false), lost;

	(void)opt;
	if (err)
		return err;
	for (size_t i = 0; !err && i < log->jobs; i++) {
		struct goodput_answer answer = {0};
		const struct goodput_names *names;

		err = log->answer(log->ctx, i, &answer, &names);
		if (err)
			break;
		if (!tb_answer(board, &answer, names))
			log_warn("job %s: not written to TensorBoard: %s",
				 goodput_name(names, answer.job),
				 answer.cumulative.error ? answer.cumulative.error
							 : "the job has no elapsed time yet");
		goodput_answer_free(&answer);
	}
	lost = tb_board_close(board);
	return err ? err : lost;
}

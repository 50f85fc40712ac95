/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/command/account_tensorboard.h"

#include <errno.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/export/tensorboard/tensorboard_job.h"

#define NAME "tensorboard:"

int account_tensorboard_read(const struct options *o, const char **ret_dir)
{
	const char *dir;

	*ret_dir = NULL;
	if (o->exports.count != 1 || strncmp(o->exports.item[0], NAME, strlen(NAME)) != 0)
		return 0;
	dir = o->exports.item[0] + strlen(NAME);
	if (!*dir) {
		log_error("--export tensorboard: needs a folder: --export tensorboard:DIR");
		return -EINVAL;
	}
	if (o->dry_run || o->follow) {
		log_error(
			"account --export tensorboard does not go with --dry-run or --follow: it writes the log's figures as of one instant, --now");
		return -EINVAL;
	}
	*ret_dir = dir;
	return 0;
}

int account_tensorboard_write(const char *dir, struct account *a)
{
	struct tb_board *board;
	int err = tb_board_open(&board, dir, false), lost;

	if (err)
		return err;
	for (size_t i = 0; !err && i < account_jobs(a); i++) {
		struct goodput_answer answer = {0};
		struct account_view view;

		err = account_answer(a, i, &answer, &view);
		if (err)
			break;
		if (!tb_answer(board, &answer, view.names))
			log_warn("job %s: nothing is written to TensorBoard: %s",
				 goodput_name(view.names, answer.job),
				 answer.cumulative.error ? answer.cumulative.error
							 : "it has no time yet");
		goodput_answer_free(&answer);
	}
	if (err)
		log_error("account: out of memory");
	lost = tb_board_close(board);
	return err ? err : lost;
}

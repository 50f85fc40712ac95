/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf replay FILE: reads a tape and produces the output of the run that recorded it. Needs no
 * privilege and no kernel support. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/tty.h"
#include "userspace/command/command.h"
#include "userspace/ingest/tape.h"
#include "userspace/output/output.h"

static void cmd_replay_show_progress(const struct tape_reader *t, uint64_t *last_ns)
{
	uint64_t now = clock_mono_ns();
	double part = tape_progress(t);

	if (part < 0 || now - *last_ns < 200000000)
		return;
	*last_ns = now;
	fprintf(stderr, "\rreplay: %3.0f %%", part * 100);
}

static int replay_tape(struct tape_reader *tape, struct output *out, bool progress)
{
	uint64_t shown_ns = clock_mono_ns();
	struct tape_frame frame;
	int err;

	while ((err = tape_next(tape, &frame)) == 1) {
		err = output_feed(out, frame.records, frame.len);
		if (err)
			break;
		if (progress)
			cmd_replay_show_progress(tape, &shown_ns);
	}
	if (progress)
		fputs("\r\033[K", stderr);
	return err;
}

int cmd_replay(int argc, char **argv)
{
	struct tape_reader *tape = NULL;
	struct output *out = NULL;
	struct options o;
	int err, code = EXIT_RUNTIME, lost;

	err = options_parse(&o, CMD_REPLAY, argc, argv);
	if (err >= 0)
		return err;
	if (o.argc != 1) {
		log_error(
			"replay: expected one tape: gp-bpf replay [options] FILE (- is standard input)");
		options_free(&o);
		return EXIT_USAGE;
	}
	err = tape_open(&tape, o.argv[0]);
	if (err)
		goto done;
	o.keep_ns = o.state_bytes = 0; /* keep everything in the store, however old the tape is */
	o.replay = true;
	err = output_open(&out, &o, VIEW_NONE, STDOUT_FILENO,
			  output_is_data(&o) ? STDERR_FILENO : STDOUT_FILENO);
	if (err) {
		code = err == -EINVAL ? EXIT_USAGE : EXIT_RUNTIME;
		goto done;
	}
	err = replay_tape(tape, out, !o.quiet && tty_escapes(STDERR_FILENO));
	if (err)
		log_error("replay %s: %s", o.argv[0], strerror(-err));
	lost = output_close(out, !o.quiet);
	if (!err && !lost)
		code = EXIT_OK;
done:
	tape_reader_close(tape);
	options_free(&o);
	return code;
}

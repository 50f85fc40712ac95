#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a person reads on a terminal of 80 columns: errors stay on the primary screen, nothing is wider, and a terminal that
# understands no escape sequences gets none.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # tests are subshells; bats sets output
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_program script
	unset NO_COLOR
	export TERM=xterm COLUMNS=80
	AS=''
}
teardown() {
	e2e_teardown
	[ -z "$AS" ] || rm -r "$AS"
}

# Runs a command on a terminal of 80 x 24. SHOWN: what the primary screen holds after it, without colours; RAW: all bytes.
on_terminal() { # status command...
	local status=$1
	shift
	: >"$T/raw"
	run "-$status" script -qec "stty cols 80 rows 24; $(printf '%q ' "$@")" "$T/raw" </dev/null
	screen
}
screen() {
	RAW=$(tr -d '\r' <"$T/raw" | sed -e '/^Script \(started\|done\) /d')
	SHOWN=$(sed -z -E -e 's/\x1b\[\?1049h.*\x1b\[\?1049l//g' -e 's/\x1b\[[?0-9;]*[a-zA-Z]//g' <<<"$RAW")
}

# SHOWN is one line, with each of the words.
shows() { # words
	local word
	equal 1 "$(grep -c . <<<"$SHOWN")" "lines: $SHOWN"
	for word; do
		[[ $SHOWN == *"$word"* ]] || { echo "no '$word' in: $SHOWN" >&2; return 1; }
	done
}

# No line of SHOWN is wider than the terminal.
fits() {
	run -1 env LC_ALL=C.UTF-8 grep -nE '^.{81}' <<<"$SHOWN"
}

@test "errors of a watch stay on the screen, and no other screen is opened for them" {
	need_probes
	local gone
	gone=$(bash -c 'echo $BASHPID')
	on_terminal 1 "$GP_BPF" --pid "$gone"
	shows "process $gone: no such process"
	on_terminal 2 "$GP_BPF" --pid "$$" --probes "$T/none"
	shows "$T/none"
	on_terminal 127 "$GP_BPF" run --live --output "$T/cmd" -- /no/such/command
	shows "/no/such/command: No such file or directory"
	on_terminal 126 "$GP_BPF" run --live --output "$T/no/folder" -- true
	shows "output $T/no/folder: No such file or directory"
	[[ $RAW != *$'\e[?1049h'* ]]
}

@test "errors without root stay on the screen" {
	[ "$EUID" -eq 0 ] || cannot "only root can become somebody else"
	AS=$(mktemp -d)
	mkdir -p "$AS/bin" "$AS/share/gp-bpf"
	cp "$GP_BPF" "$AS/bin"
	cp -r "$TOP/probes" "$AS/share/gp-bpf"
	chmod -R a+rX "$AS"
	local as=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)
	on_terminal 3 "${as[@]}" "$AS/bin/gp-bpf" --pid "$$"
	shows root
	on_terminal 3 "${as[@]}" "$AS/bin/gp-bpf" run --live --output /dev/null -- true
	shows root
	on_terminal 3 "${as[@]}" "$AS/bin/gp-bpf" top --state-dir "$T/none"
	[[ $SHOWN == *root* ]]
	[[ $RAW != *$'\e[?1049h'* ]]
}

@test "what is logged during the live view follows it, also after SIGTERM; the report fits the terminal" {
	need_probes
	start_job "$TRAIN" load steps=20 until
	job_line steps
	: >"$T/raw"
	background /dev/null /dev/null /dev/null script -qefc \
		"stty cols 80 rows 24; exec $GP_BPF --pid $JOB --export json:/dev/full" "$T/raw"
	local script=$LAST watch
	until_true grep -q 1049h "$T/raw"
	until_true grep -q "No space left" "$T/raw"
	watch=$(pgrep -P "$script" gp-bpf)
	kill -TERM "$watch"
	wait_exit "$script"
	screen
	[[ $SHOWN == *"/dev/full: No space left on device"* ]]
	[[ $SHOWN == *"records"*"lost: none"* ]]
	[[ $SHOWN != *…* ]]
	fits
	job_go
	job_end
}

@test "check fits the terminal, and ends with what it comes to" {
	need_probes
	on_terminal 0 "$GP_BPF" check
	[[ $SHOWN == *$'\n'"on this host: processes can be watched"* ]]
	fits
	on_terminal 3 "$GP_BPF" check --feature bpf=off
	[[ $SHOWN == *$'\n'"on this host: nothing can be watched; missing: bpf (switched off)"* ]]
	fits
	on_terminal 0 "$GP_BPF" check --library "$FAKE/libtorch_cpu.so"
	fits
}

@test "the reports of the store fit the terminal, and in a pipe nothing is cut" {
	need_probes
	local long
	long=$(printf 'word%.0s ' {1..40})
	run -137 "$GP_BPF" run --store "$T/store.db" --job trained --perf-tag "$(printf 'tag%.0s' {1..15})" -- "$TRAIN" load wait steps=40 "save=$T/$(printf 'ab%.0s' {1..60}).pt" kill=9
	run -0 "$GP_BPF" mark trained "$long" --store "$T/store.db"
	on_terminal 0 "$GP_BPF" report --store "$T/store.db"
	fits
	[[ $SHOWN == *trained* && $SHOWN != *…* ]]
	on_terminal 0 "$GP_BPF" jobs --store "$T/store.db"
	fits
	run -0 "$GP_BPF" report --store "$T/store.db"
	[[ $output != *…* ]]
}

@test "top says why it has no answer when it ends" {
	local script
	: >"$T/raw"
	background /dev/null /dev/null /dev/null script -qefc "stty cols 80 rows 24; exec $GP_BPF top --listen 127.0.0.1:1" "$T/raw"
	script=$LAST
	until_true grep -q "no answer" "$T/raw"
	kill -TERM "$(pgrep -P "$script" gp-bpf)"
	wait_exit "$script"
	equal 1 "$STATUS" status
	screen
	shows "127.0.0.1:1: no answer" "check that gp-bpf node listens"
}

@test "a terminal that understands no escape sequences gets none" {
	need_probes
	local term
	for term in TERM=dumb '-u TERM'; do
		# shellcheck disable=SC2086 # words
		for command in "--pid 999999999" "check" "probes" "top --once" "--pid $$ --for 2s" "no-such-command" \
			"run --live --output $T/cmd -- true" "run -- /no/such" "report --store $T/none" "account --follow --for 1s $T/none"; do
			: >"$T/raw"
			script -qec "stty cols 80 rows 24; env $term $GP_BPF $command" "$T/raw" </dev/null >/dev/null || true
			screen
			[[ $RAW != *$'\e'* ]] || { echo "$term $command: $RAW" >&2; return 1; }
			[ -n "$SHOWN" ]
		done
	done
}

@test "NO_COLOR: no colour, anywhere" {
	need_probes
	local command
	for command in "--pid 999999999" "check" "probes" "top --once" "--pid $$ --for 2s" "no-such-command" "run -- true"; do
		: >"$T/raw"
		script -qec "stty cols 80 rows 24; NO_COLOR=1 $GP_BPF $command" "$T/raw" </dev/null >/dev/null || true
		screen
		! grep -qE $'\e\\[[0-9;]*[1-9][0-9;]*m' <<<"$RAW" || { echo "$command: $RAW" >&2; return 1; }
	done
}

#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the training thread of a slow job waits for, and who runs instead: programs that are attached for some
# seconds only. The cause is injected, so it is known.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and shell; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	"$GP_BPF" check | grep -q 'tp_btf *yes' || cannot "the kernel lacks feature tp_btf"
	HOG='' SERVER='' MOUNTED='' SLOW_AFTER=5s HANG_AFTER=()
}
teardown() {
	[ -z "$HOG" ] || kill "$HOG" 2>/dev/null || true
	e2e_teardown
	[ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null || true
	[ -z "$MOUNTED" ] || until_true umount -l "$MOUNTED"
}

# The job and what disturbs it share the last CPU.
LAST=$(($(nproc) - 1))
FIRST=(nice -n -20 taskset -c "$LAST")

start_slow_job() { # OPERATION...
	start_job "${FIRST[@]}" "$TRAIN" load wait pace=100 "$@" until steps=50
	start_watch record -o "$T/tape" --slow-after "$SLOW_AFTER" "${HANG_AFTER[@]}" --pid "$JOB" --json --log-level info --export "json:$T/out" || return 1
	READY_S=100 until_true usual
}
usual() { [ "$(grep -c '"type":"step"' "$T/out")" -ge 500 ]; }
attached() { bpftool prog show | grep -q ' name gp_exam_switch .*' && bpftool link show | grep -q "prog $(program) "; }
program() { bpftool prog show | sed -n 's/^\([0-9]*\):.* name gp_exam_switch .*/\1/p' | tail -1; }
detached() { ! bpftool link show | grep -q "prog $(program) "; }
examined() { grep -q "examined 1 thread" "$T/watch.err"; }
end_steps() {
	job_go
	job_end
	watch_end
	jq -c 'select(.type == "health")' "$T/out" >"$T/health"
}
is() { # what .examined of the last line of health has to be
	jq -se "map(select(.examined)) | last | .examined | $1" "$T/health" || { cat "$T/health" >&2; return 1; }
}

recovered() { grep -qs '"kind":"recovered"' "$T/out"; }
slow() { grep -qs '"kind":"fail_slow"' "$T/out"; }

@test "a program with a name on its CPU is named first, and the programs are detached" {
	SLOW_AFTER=25s # the examination is over by then
	start_slow_job work=20000
	cp "$(command -v dash || command -v sh)" "$T/hog_of_a_test"
	"${FIRST[@]}" "$T/hog_of_a_test" -c 'while :; do :; done' &
	HOG=$!
	READY_S=100 until_true attached
	local since=$SECONDS
	READY_S=100 until_true detached
	[ $((SECONDS - since)) -le 11 ]
	until_true examined
	READY_S=100 until_true slow
	kill "$HOG"
	READY_S=100 until_true recovered
	end_steps
	is '.instead[0].comm == "hog_of_a_test" and .instead[0].job == null and .instead[0].ns > 0.2 * .runnable_ns'
	is '.runnable_ns > 0.2 * (.to_ns - .from_ns) and (.to_ns - .from_ns) <= 10e9'
	jq -se 'map(select(.kind == "fail_slow")) | .[0].evidence | test("waits for a CPU on which other threads run \\(hog_of_a_test, not part of a job: [0-9]+ %\\)")' "$T/health"
	# The price: far below the default budget of 1 %.
	is '.cost_ns < 0.01 * (.to_ns - .from_ns)'
	# The tape has all of it.
	run -0 --separate-stderr "$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	jq -c 'select(.type == "health")' "$T/again" | cmp - "$T/health"
}

# A server that answers each byte, SECONDS late while FILE is there; descriptor 7 is connected to it.
start_server() { # SECONDS FILE
	python3 -c '
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client, _ = listener.accept()
while client.recv(1):
    end = time.monotonic() + float(sys.argv[1])
    while os.path.exists(sys.argv[2]) and time.monotonic() < end:
        time.sleep(0.01)
    client.send(b"x")
' "$1" "$2" >"$T/port" &
	SERVER=$!
	until_true test -s "$T/port"
	exec 7<>"/dev/tcp/127.0.0.1/$(cat "$T/port")"
}

@test "a server that answers slowly: its address is named, and the cause is the network" {
	need_program python3
	start_server 0.03 "$T/slow"
	start_slow_job ask=7 work=10000
	touch "$T/slow"
	READY_S=100 until_true examined
	rm "$T/slow"
	READY_S=100 until_true recovered
	end_steps
	exec 7>&-
	is ".waits[0].wait == \"network\" and .waits[0].target == \"127.0.0.1:$(cat "$T/port")\" and .waits[0].slow > 20"
	jq -se 'map(select(.kind == "recovered")) | .[0] | .why == "network" and (.causes | map(select(.cause == "network")) | .[0].share > 0.5)' "$T/health"
}

@test "a server that does not answer any more: the evidence of the hang says what the thread waits for" {
	need_program python3
	start_server 1000 "$T/stop"
	HANG_AFTER=(--hang-after 20s)
	start_slow_job ask=7 work=10000
	touch "$T/stop"
	READY_S=100 until_true grep -q '"kind":"hang"' "$T/out"
	rm "$T/stop"
	end_steps
	exec 7>&-
	jq -se 'map(select(.kind == "hang")) | .[0] | (.evidence | test("examined for 9.0 s: (100|99) % waits for a socket")) and .examined.asleep_ns.socket > 8e9' "$T/health"
}

@test "a file of a slow file system: it is named, and the cause is the disk" {
	MOUNTED=$T/fs
	mkdir "$MOUNTED"
	background /dev/null "$T/fs.out" "$T/fs.err" "$FAKE/brokenfs" "$MOUNTED"
	until_true grep -q ready "$T/fs.out" || cannot "no FUSE file system can be mounted"
	echo data >"$MOUNTED/slow-shard"
	start_slow_job "read=$MOUNTED/slow-shard" work=10000
	touch "$MOUNTED/delay"
	READY_S=100 until_true examined
	rm "$MOUNTED/delay"
	READY_S=100 until_true recovered
	end_steps
	is ".waits[0].wait == \"file\" and (.waits[0].target | endswith(\"slow-shard\")) and .waits[0].slow > 20"
	jq -se 'map(select(.kind == "recovered")) | .[0] | .why == "disk" and (.causes | map(select(.cause == "disk")) | .[0].share > 0.5)' "$T/health"
}

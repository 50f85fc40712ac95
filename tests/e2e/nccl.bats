#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# NCCL, on a stand-in whose ranks meet in shared memory, really wait for each other and really reduce
# (tests/fake/libnccl.c): who is which rank, what is reduced where, who waits for whom.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
}
teardown() { e2e_teardown; }

start_train() { # options of cuda_train...; WATCH_WITH: of gp-bpf
	start_job "$FAKE/cuda_train" "journal=$T/journal" "$@"
	job_line loaded
	start_watch record --pid "$JOB" --quiet -o "$T/tape" --overhead-budget 0 --export "json:$T/out" "${WATCH_WITH[@]}"
	job_go
}
train() { # status options...
	local status=$1
	shift
	start_train "$@"
	job_end "$status"
	watch_end
	"$TOP/tests/tools/tape_calls.py" "$T/tape" >"$T/calls"
}
seen() { # probe filter
	jq -c "select(.probe == \"$1\") | $2" "$T/calls"
}

@test "four ranks: each knows its own, the size of the world, one id; every collective has bytes and communicator" {
	train 0 ranks=4 steps=53
	equal '[4,[0,1,2,3]]' "$(seen nccl.comm_init_rank '[.calls, (.arg | map(.[1]) | sort)]')" ranks
	equal '[4]' "$(seen nccl.comm_init_rank '.arg | map(.[0]) | unique')" "world size"
	equal '[[0,4],[1,4],[2,4],[3,4]]' \
		"$(jq -sc '[.[] | select(.type == "rank") | [.rank, .world_size]] | unique' "$T/out")" "ranks, as told"
	equal '[1,false]' "$(seen nccl.comm_init_rank '[(.arg | map(.[3:5]) | unique | length), (.arg | any(.[3] == 0))]')" ids
	equal '[212,[[2,7]]]' "$(seen nccl.all_reduce '[.calls, (.arg | map(.[0:2]) | unique)]')" "what is reduced"
	# Each rank reduces on the communicator that its own call made.
	equal "$(seen nccl.comm_init_rank '[[.pid, (.arg | map(.[2]))] | transpose[]] | sort')" \
		"$(seen nccl.all_reduce '[[.pid, (.arg | map(.[2]))] | transpose[]] | unique')" communicators
	equal '[4,[0]]' "$(seen nccl.comm_destroy '[.calls, (.ret | unique)]')" "ended in order"
	equal '' "$(seen nccl.async_error .)" "healthy, so not told"
	# It trained: all ranks came to the same line.
	equal 'end 53 212 3.000' "$(sort -u <(tail -qn1 "$T"/journal.*))" "the ranks' results"
}

@test "a communicator made from another: its handle, and whose it was" {
	train 0 ranks=2 split steps=7
	equal '[2,[[0,0]]]' "$(seen nccl.comm_split '[.calls, (.arg | map(.[0:2]) | unique)]')" "ranks that nobody says"
	equal "$(seen nccl.comm_init_rank '[[.pid, (.arg | map(.[2]))] | transpose[]] | sort')" \
		"$(seen nccl.comm_split '[[.pid, (.arg | map(.[3]))] | transpose[]] | sort')" "made from"
	equal '[2,1]' "$(jq -sc --argjson made "$(seen nccl.comm_split '.arg | map(.[2])')" \
		'[($made | length), (.[] | select(.probe == "nccl.all_reduce")
			| [.arg[] | select(.[2] as $c | $made | index($c) != null)[0]] | unique[])]' "$T/calls")" "used once by each"
}

@test "steps of every rank, exact, with the wait that the user names" {
	WATCH_WITH=(--marker sync --export "trace:$T/trace")
	train 0 ranks=2 steps=53 pace=2000
	sound "$T/out"
	# Where each blocked is drawn, for as long as is told (trace.py): every step waits for its device.
	run -0 "$TOP/tests/tools/trace.py" "$T/trace" "$T/out"
	equal 106 "$(jq '[.[] | select(.cat == "blocked" and .name == "sync")] | length' "$T/trace")" "waits drawn"
	equal "$(jq -s '[.[] | select(.type == "step" and .phases.collective > 0)] | length' "$T/out")" \
		"$(jq '[.[] | select(.cat == "blocked" and .name == "collective") | .ts] | unique | length' "$T/trace")" "collectives drawn"
	equal '[53,53]' "$(jq -sc '[.[] | select(.type == "step")] | group_by(.pid) | map(length)' "$T/out")" "steps by rank"
	# No step of a rank ends before its own journal's line of the step before.
	local rank pid
	for rank in 0 1; do
		pid=$(seen nccl.comm_init_rank "[[.pid, (.arg | map(.[1]))] | transpose[] | select(.[1] == $rank)][0][0]")
		paste <(awk '$1 == "step" { print $3 }' "$T/journal.$rank") \
			<(of_type step "$T/out" "select(.pid == $pid) | .end_ns") |
			awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1000000) n++ } END { exit n > NR / 10 }'
	done
}

@test "a peer that dies: the others are told before they fail" {
	FAKE_CUDA_1='cuStreamSynchronize:ret=719@31' train 3 ranks=2 steps=53
	equal '[1,6]' "$(seen nccl.async_error '[.calls, .arg[0][1]]')" "what the watchdog was told"
	equal '[1,0]' "$(seen nccl.comm_abort '[.calls, .ret[0]]')" "given up"
	equal "$(seen nccl.async_error '[.pid[0], .arg[0][0]]')" "$(seen nccl.comm_abort '[.pid[0], .arg[0][0]]')" "the same one"
	equal '["CUDA_ERROR_LAUNCH_FAILED"]' \
		"$(jq -sc '[.[] | select(.type == "health" and .kind == "device_error") | .name] | unique' "$T/out")" device
	jq -se 'any(.[]; .type == "health" and .kind == "communicator_error" and .name == "ncclRemoteError")' "$T/out"
}

@test "two ranks, one hangs: the other is seen in the wait that does not return" {
	WATCH_WITH=(--marker sync --hang-after 4s)
	FAKE_CUDA_1='cuMemcpyHtoDAsync_v2:hang@31' start_train ranks=2 steps=53 pace=2000
	hang_told() {
		[ "$(jq -sc '[.[] | select(.type == "health" and .kind == "hang") | .pid] | unique | length' "$T/out")" = 2 ]
	}
	until_true hang_told
	local waits ranks
	waits=$(jq -sr '[.[] | select(.type == "health" and .kind == "hang") | .evidence] | join("; ")' "$T/out")
	[[ $waits == *"has not returned from cuStreamSynchronize"* && $waits == *"from cuMemcpyHtoDAsync_v2"* ]] || { echo "evidence: $waits" >&2; false; }
	mapfile -t ranks < <(pgrep -P "$JOB")
	kill -KILL "${ranks[@]}"
	exec 7>&-
	wait_exit "$JOB"
	wait_exit "$WATCH"
	equal '[30,30]' "$(jq -sc '[.[] | select(.type == "step")] | group_by(.pid) | map(length)' "$T/out")" "steps by rank"
}

@test "NCCL inside libtorch_cuda is found there, and once where it is beside it" {
	mkdir "$T/inside"
	cp "$FAKE"/lib{cuda.so.1,nccl.so.2} "$T/inside"
	cp "$FAKE/libnccl.so.2" "$T/inside/libtorch_cuda.so"
	"$GP_BPF" check --library "$T/inside/libtorch_cuda.so" >"$T/check"
	grep -E 'nccl.all_reduce .*libtorch_cuda\.so\+' "$T/check"
	# What only uses the library has the names too, undefined.
	gcc -shared -o "$T/inside/libtorch_cuda_linalg.so" -x c - -L"$T/inside" -l:libnccl.so.2 -Wl,--no-as-needed <<-'END'
		extern int ncclGroupEnd(void);
		int torch_end(void) { return ncclGroupEnd(); }
	END
	run "$GP_BPF" check --library "$T/inside/libtorch_cuda_linalg.so"
	[[ $output != *"+0x"* ]]
}

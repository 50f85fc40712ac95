#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# seeds.sh FOLDER: makes the inputs to start from that a tool can make.
set -eu
out=$1
mkdir -p "$out"/{probe_file,config,elf,proc,option,prologue,model,goodput_entries,goodput_gzip,store,program_name,site_text,gcm_answer,gcm_disk_queue,cloud,web,cgroup,python_stack,nccl_ras}
cp probes/*.yaml "$out/probe_file/"
printf 'runtime: x\nlibraries: [libx.so]\nprobes:\n  - {id: a, symbol: f, group: bulk, role: launch, emit: count, why: w}\n' \
	>"$out/probe_file/short.yaml"
printf 'version: 1\nlog:\n  level: debug\nexport: [json:x, prometheus]\nsteps: {marker: zero_grad}\n' >"$out/config/one"
printf 'tls_server_config:\n  cert_file: a\n  key_file: b\n  cipher_suites: [TLS_AES_128_GCM_SHA256]\n  curve_preferences: [X25519]\n' >"$out/web/tls"
# shellcheck disable=SC2016 # a hash
printf 'basic_auth_users:\n  a: $2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n' >"$out/web/users"
printf 'application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version="0.0.4";q=0.5,*/*;q=0.1' >"$out/web/accept"
printf 'gzip;q=1.0, identity; q=0.5, *;q=0' >"$out/web/encoding"
printf 'a: [1, {b: c}]\n? [x]\n: y\n' >"$out/config/two"

printf 'ML\357R\rMLIR23.0.0\0mhlo.num_partitions\0mhlo.num_replicas\0jit_train_step\0main\0' >"$out/program_name/bytecode"
printf '\012\220\001\012\005jit_f\022\006main.2' >"$out/program_name/proto"
printf 'module @jit_f attributes {' >"$out/program_name/text"
printf '\012\045\012\043\012\037\012\005jit_f\022\006main.2\032\016\012\010region_1\022\002ab' >"$out/program_name/cached"

# Version, types, and words written into the memory of tests/unit/python_memory.h: place, length, bytes.
printf '\004\001\000' >"$out/python_stack/whole"
printf '\004\001\001\010\040\002\000\041\001' >"$out/python_stack/circle"
printf '\004\000\002\020\122\007\377\377\377\377\377\377\377\077\020\161\007\377\377' >"$out/python_stack/lengths"

printf '#0-0 (27) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n  3 ranks have launched up to operation 42\n  Rank 1 has launched up to operation 41 -- GPU 1 managed by process 7 on node 10.0.0.1\n' >"$out/nccl_ras/text"
printf 'OK\n{"communicators": [{"hash": "0xa", "ranks": [{"rank": 0, "host": "h", "pid": 7, "collective_counts": {"AllReduce": 4}}], "missing_ranks": [{"rank": 1, "status": {"unresponsive": true}}]}]}' >"$out/nccl_ras/json"

source=$(mktemp --suffix=.c)
trap 'rm -f "$source"' EXIT
cat >"$source" <<-'C'
	void alpha(void) {}
	void beta(int *p) { *p = 1; }
	void _Z5gammav(void) {}
	static void hidden(void) {}
	void (*use)(void) = hidden;
C
for style in gnu sysv; do
	for strip in '' -s; do
		cc -O1 -fPIC -shared -nostdlib -Wl,--hash-style=$style -Wl,--build-id=none -Wl,-z,noseparate-code \
			${strip:+"$strip"} -o "$out/elf/$style$strip" "$source"
	done
done

# A function that loads the address of its name, behind the machine's number (x86-64, arm64): lea 0x39(%rip), %rdi; adrp, add.
text='PJRT_Client_Compile_Args\0PJRT_Event_Await\0'
{ printf '\0\x48\x8d\x3d\x39\0\0\0' && head -c 57 /dev/zero && printf '%b' "$text"; } >"$out/site_text/x86"
{ printf '\1\0\0\0\x90\0\0\1\x91' && head -c 56 /dev/zero && printf '%b' "$text"; } >"$out/site_text/arm64"

le64() { # number...
	local n i
	for n; do
		for i in 0 8 16 24 32 40 48 56; do
			printf '%b' "\\x$(printf '%02x' $((n >> i & 0xff)))"
		done
	done
}

# stat, cmdline, environ and children with their lengths before them, then a line of maps
piece() { # text, with the escapes of printf
	local len
	# shellcheck disable=SC2059 # the text is the format
	len=$(printf "$1" | wc -c)
	printf '%b' "\\x$(printf '%02x' $((0x80 | len >> 8)))\\x$(printf '%02x' $((len & 0xff)))"
	# shellcheck disable=SC2059
	printf "$1"
}
{
	piece '7 (py (x) thon) S 1 7 7 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 12345 1 1 1\n'
	piece 'python3\0train.py\0\033[2J\0'
	piece 'PATH=/bin\0RANK=3\0WORLD_SIZE=8\0LOCAL_RANK=3\0TORCHELASTIC_RUN_ID=job\0'
	piece '8 9 10 '
	printf '7f0000000000-7f0000001000 r-xp 00000000 fd:01 123456    /usr/lib/libtorch_cpu.so\n'
} >"$out/proc/one"
# /proc/PID/cgroup with its length before it, then environ
id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
for path in "/kubepods/burstable/pod4a163a05-439d-484b-8e53-2968bc15824f/$id" \
	"/kubepods.slice/kubepods-pod4a163a05_439d_484b_8e53_2968bc15824f.slice/cri-containerd-$id.scope" \
	"/system.slice/slurmstepd.scope/job_7/step_0" "/system.slice/train.service/libpod-payload-$id"; do
	{
		piece "12:pids:/\\n0::$path\\n"
		printf 'TPU_WORKER_ID=1\0TPU_WORKER_HOSTNAMES=a,b\0MEGASCALE_NUM_SLICES=2\0SLURM_JOB_ID=7\0'
	} >"$out/cgroup/${path//[^a-z]/_}"
done
printf '\0--pid\0007\0--export\0json:-\0--for\00010s\0--feature\0multi=off' >"$out/option/pid"
printf '\001--quiet\0--ideal\00031ms\0--\0true\0--x' >"$out/option/run"
printf '\0\363\017\036\372\125\110\211\345' >"$out/prologue/push"
printf '\001\375\173\277\251' >"$out/prologue/arm64"

# Steps of a plain loop, by records.h: fetch, zero_grad, backward, update; a tick; at last an exit.
steps() {
	local i
	for ((i = 0; i < $1; i++)); do
		printf '\010\005\004\012\005\010\004\002\012\004\013\005\003\010\005\000\012\006'
	done
}
{
	steps 30
	printf '\016\012\004'
	steps 10
	printf '\014\010\000\014\010\001' # a checkpoint
	steps 10
	printf '\015\006\002'
} >"$out/model/loop"

# A log: the instrumented library's own records, a Cloud Logging export, and one packed.
step='{"job_name":"j","step_count":1,"step_start_time":1735725600.25}'
save='{"job_name":"j","step":1,"event_type":"save","directory":"gs://b","checkpoint_manager_blocking_start_time":5,'
save+='"checkpoint_manager_blocking_duration_secs":1.5}'
entry='{"insertId":"a","timestamp":"2026-01-01T00:00:00.5Z","jsonPayload":'
printf '\005%s\n%s\n{"custom_badput_event_type":"e","custom_badput_event_start_time":NaN}\n{"a":\n%s' \
	"$step" "$save" "$step" >"$out/goodput_entries/lines"
printf '\377[\n%s%s},\n{"active_slices":1,"elastic_slice_counts_timestamp":1}]\n' "$entry" "$step" \
	>"$out/goodput_entries/array"
{
	printf '\001'
	piece "$step\\n"
	printf '\001\002\003'
} >"$out/goodput_gzip/packed"
printf '%s%s}%s%s}' "$entry" "$step" "$entry" "$step" >"$out/goodput_gzip/plain"
printf '%s\n%s\n' "$step" "$save" | gzip -nc >"$out/goodput_gzip/gzip"

# Step times (format, coarse, sum, least, span, classes: number and count of each) and sums (name, time), by themselves and in
# the rows of a store
times='\0001\0000\0310\0001\0144\0000\0001\0244\0003\0002' ledger='\0020\0310\0001\0014\0144'
printf '%b' '\0000\0012' "$times$times" >"$out/store/times"
printf '%b' '\0001' "$ledger" >"$out/store/sums"
printf '\002\200\001\377\377\377\377\377\377\377\377\377\001' >"$out/store/varints"
{
	printf '\003'
	for _ in 1 2 3 4 5; do
		printf '%b' '\0005' "$ledger" '\0012' "$times"
	done
} >"$out/store/rows"

printf '\000{"type":"service_account","client_email":"a@b","private_key":"k","token_uri":"https://x/","project_id":"p"}' >"$out/cloud/account"
printf '\000{"type":"authorized_user","client_id":"a","client_secret":"s","refresh_token":"r","quota_project_id":"q"}' >"$out/cloud/user"
printf '\001{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}' >"$out/cloud/token"
printf '\002{"error":"invalid_grant","error_description":"Bad Request"}' >"$out/cloud/error"
printf '\003projects/1/zones/us-central1-a' >"$out/cloud/place"

# A reply: status and points, then the body; a queue on disk: how, then pieces with points, their newest end and length.
reply='{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"One or more TimeSeries could not be written: '
reply+='older end time: timeSeries[3]; more frequently than: timeSeries[0-1,5]","details":[{"@type":"type.googleapis.com/'
reply+='google.monitoring.v3.CreateTimeSeriesSummary","totalPointCount":8,"successPointCount":2,"errors":[{"status":'
reply+='{"code":9,"message":"x"},"pointCount":5}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3.5s"}]}}'
printf '\001\007%s' "$reply" >"$out/gcm_answer/partial"
printf '\000\001{}' >"$out/gcm_answer/taken"
printf '\001\003Field timeSeries[1].points[0] is bad' >"$out/gcm_answer/text"
{
	printf '\001\001\310\032'
	le64 1 200 2
	printf '{}\002\310\064'
	le64 1 200 2 2 200 2
	printf '{}{}'
} >"$out/gcm_disk_queue/records"

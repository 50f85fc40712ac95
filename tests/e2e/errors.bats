#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What goes wrong is told in a clear line, with the right exit code: 1 at run time, 2 usage, 3 the kernel or
# a privilege lacks what is needed.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	PUBLIC=''
}
teardown() {
	e2e_teardown
	[ -z "$PUBLIC" ] || rm -r "$PUBLIC"
}

# One line on standard error that holds each of the words, and nothing on standard output.
one_line() { # words
	local word
	equal "" "$output" "standard output"
	equal 1 "$(grep -c . <<<"$stderr")" "lines: $stderr"
	for word; do
		[[ $stderr == *"$word"* ]] || { echo "no '$word' in: $stderr" >&2; return 1; }
	done
}

# PUBLIC: a copy of the program that every user may run.
public_copy() {
	PUBLIC=$(mktemp -d)
	mkdir -p "$PUBLIC/bin" "$PUBLIC/share/gp-bpf"
	cp "$GP_BPF" "$PUBLIC/bin"
	cp -r "$TOP/probes" "$PUBLIC/share/gp-bpf"
	chmod -R a+rX "$PUBLIC"
}

@test "usage errors" {
	local wrong
	while read -r wrong; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr "$GP_BPF" $wrong
		[ -n "$stderr" ]
	done <<-'EOF'

		no-such-command
		--no-such-option
		--pid
		--pid 0
		--pid -5
		--pid x1
		--pid 1 --no-such-option
		--pid 1 true
		run
		run --quiet
		run --marker
		record --pid 1
		record -o tape
		record -o tape --pid 1 -- true
		replay
		replay one two
		check argument
		run --multiply 0 -- true
		run --multiply x -- true
		run --ideal soon -- true
		run --log-level loud -- true
		run --feature multi -- true
		run --feature no-such-feature=off -- true
		run --marker no-such-marker -- true
		run --export no-such-exporter -- true
		run --export csv -- true
		run --export trace:/tmp/x,size=1 -- true
		run --export tensorboard:/tmp/x,interval=5 -- true
		run --export otlp:localhost -- true
		run --export cloud-monitoring:zone=1 -- true
		run --on fall=true -- true
		run --config /no/such/file -- true
		--pid 1 --for ever
	EOF
	[ -n "$NO_PROBES" ] || run -2 "$GP_BPF" check --feature no-such-feature=off
}

@test "help and version" {
	run -0 --separate-stderr "$GP_BPF" --help
	[[ $output == *run* ]]
	equal "" "${stderr:-}"
	run -0 "$GP_BPF" --version
	[[ $output =~ ^gp-bpf\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
	local command
	for command in run record replay check probes schema; do
		run -0 "$GP_BPF" "$command" --help
		[[ $output == "usage: gp-bpf $command"* ]]
	done
}

@test "help: one screen, then the common options of a command, then all; each line fits 80 columns" {
	run -0 "$GP_BPF" --help
	[ "${#lines[@]}" -le 24 ]
	local command
	for command in "--pid 1" run record node top replay account check probes schema detach jobs report mark exclude bundle completion; do
		# shellcheck disable=SC2086 # words
		run -0 "$GP_BPF" $command --help=all
		equal "" "$(awk 'length > 80' <<<"$output")" "lines of $command that are too long"
		[[ $output != *"more options"* ]]
	done
	run -0 "$GP_BPF" run --help
	[[ $output == *$'\noutput:\n'* && $output == *"more options: gp-bpf run --help=all" && $output != *--ready-fd* ]]
	run -0 "$GP_BPF" run --help=all
	[[ $output == *--ready-fd* ]]
	run -2 "$GP_BPF" run --help=most
	for command in -V version --version; do run -0 "$GP_BPF" "$command"; [[ $output == "gp-bpf "* ]]; done
}

@test "a mistyped command or option: what may be meant" {
	local words expected
	while IFS='|' read -r words expected; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr "$GP_BPF" $words
		equal "$expected" "$(grep -oF -e "$expected" <<<"$stderr")" "$words: $stderr"
	done <<-'EOF'
		recrod|did you mean gp-bpf record?
		1234|gp-bpf --pid 1234
		train.py|gp-bpf run -- train.py
		nothing|unknown command 'nothing'; see gp-bpf --help
		run --exprot=json:- -- true|unknown option --exprot=json:-; did you mean --export?
		run --durable -- true|it is an option of gp-bpf node
		run --no-such-thing -- true|unknown option --no-such-thing; see gp-bpf run --help
	EOF
}

@test "no such process" {
	need_probes
	local gone
	gone=$(bash -c 'echo $BASHPID')
	run -1 --separate-stderr "$GP_BPF" --pid "$gone"
	one_line "$gone" "no such process"
	run -1 --separate-stderr "$GP_BPF" check --pid "$gone"
	[[ $stderr == *"no such process"* ]]
}

@test "a user without privileges" {
	[ "$EUID" -eq 0 ] || cannot "only root can become somebody else"
	public_copy
	local as=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all)
	run -3 --separate-stderr "${as[@]}" "$PUBLIC/bin/gp-bpf" --pid "$$"
	one_line root
	run -3 --separate-stderr "${as[@]}" "$PUBLIC/bin/gp-bpf" run -- touch "$T/started"
	one_line root
	[ ! -e "$T/started" ]
	# What needs no privilege works.
	run -0 "${as[@]}" "$PUBLIC/bin/gp-bpf" probes
	run -0 "${as[@]}" "$PUBLIC/bin/gp-bpf" schema
	run -3 "${as[@]}" "$PUBLIC/bin/gp-bpf" check
}

@test "another PID namespace" {
	need_probes
	run -3 --separate-stderr unshare --pid --fork --mount-proc "$GP_BPF" --pid 1
	one_line hostPID
}

# yaml_error LINE WORD: the probe file in $T/probes is refused, its line and the word are named.
yaml_error() {
	run -2 --separate-stderr "$GP_BPF" probes --probes "$T/probes"
	[[ $stderr == *"bad.yaml:$1"* && $stderr == *"$2"* ]] || { echo "no $1 or '$2' in: $stderr" >&2; return 1; }
	[ -n "$NO_PROBES" ] || run -2 "$GP_BPF" run --quiet --probes "$T/probes" -- touch "$T/started"
	[ ! -e "$T/started" ]
}

bad_yaml() { mkdir -p "$T/probes" && cat >"$T/probes/bad.yaml"; }

@test "probe files that are wrong are refused by file, line and field" {
	printf 'runtime: x\nlibraries: [libx.so\nprobes: [\n' | bad_yaml
	yaml_error '' ''
	bad_yaml <<-'EOF'
		runtime: x
		libraries: [libx.so]
		probes:
		  - id: one
		    symbol: f
		    group: marker
		    role: backward
		    colour: blue
		    why: w
	EOF
	yaml_error 8 colour
	bad_yaml <<-'EOF'
		runtime: x
		libraries: [libx.so]
		probes:
		  - id: one
		    symbol: f
		    group: marker
		    role: no_such_role
		    why: w
	EOF
	yaml_error 7 role
	bad_yaml <<-'EOF'
		runtime: x
		libraries: [libx.so]
		probes:
		  - id: one
		    symbol: _ZN1x1fEv
		    abi: itanium
		    return: true
		    group: marker
		    role: backward
		    why: w
	EOF
	yaml_error '' return
}

@test "probe files: none, and not a folder" {
	mkdir "$T/empty"
	run -2 --separate-stderr "$GP_BPF" probes --probes "$T/empty"
	[ -n "$stderr" ]
	run -2 --separate-stderr "$GP_BPF" probes --probes "$T/missing"
	[[ $stderr == *"$T/missing"* ]]
}

@test "a config file that is wrong is refused by file and line" {
	printf 'version: 1\nno_such_key: 1\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" run --config "$T/config" -- true
	one_line "$T/config:2" no_such_key
	printf 'version: 1\nsteps: {multiply: many}\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" run --config "$T/config" -- true
	one_line "$T/config:2" steps.multiply
	printf 'version: 2\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" run --config "$T/config" -- true
	one_line "$T/config:1" version
	printf 'a: [\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" run --config "$T/config" -- true
	one_line "$T/config:"
}

@test "--print-config refuses what a start would refuse, by file and line" {
	printf 'price: 1\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" node --config "$T/config" --print-config
	one_line "$T/config:1" "version: missing"
	printf 'version: 1\ntargets:\n  - deny: team=x\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" node --config "$T/config" --print-config
	one_line "$T/config:3: targets.deny: 'team=x': expected KEY=GLOB"
	printf 'version: 1\njob: {name: a}\nprice: free\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" run --config "$T/config" --print-config
	one_line "$T/config:3: price: 'free': expected a price"
	GP_BPF_EXPORT=nothing run -2 --separate-stderr "$GP_BPF" run --print-config
	one_line "environment GP_BPF_EXPORT nothing: no such exporter"
	run -2 --separate-stderr "$GP_BPF" --pid x --print-config
	one_line "--pid: 'x' is not a process id"
}

@test "what is no exclusion is refused, by file and line" {
	for item in '{from: 1h, to: 2h, why: x}' '{from: yesterday, to: now, why: x}' '{from: 2h, to: now, from: 1h, why: x}'; do
		printf 'version: 1\nexclude:\n  - %s\n' "$item" >"$T/config"
		run -2 --separate-stderr "$GP_BPF" run --config "$T/config" -- true
		one_line "$T/config:3: exclude: expected items like" from to why
	done
	printf 'version: 1\nexclude: [{from: 2h, to: now}]\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" run --config "$T/config" -- true
	one_line "$T/config" "the last item has no why"
	printf 'version: 1\nexclude: [{from: 2h, until: now, why: x}]\n' >"$T/config"
	run -2 --separate-stderr "$GP_BPF" run --config "$T/config" -- true
	one_line "$T/config:2" exclude.until
	run -2 --separate-stderr "$GP_BPF" run --exclude 2h,now -- true
	one_line "--exclude: '2h,now': expected FROM,TO,WHY"
	printf 'version: 1\nexclude: [{why: "new, year", from: 2026-01-01T00:00:00Z, to: 1767312000}]\n' >"$T/config"
	run -0 --separate-stderr "$GP_BPF" run --config "$T/config" --print-config
	grep -qF -- '  - {from: 1767225600.000000, to: 1767312000.000000, why: "new, year"}  # file' <<<"$output"
}

# Without where each is from, and what is not set.
settings() { sed -e '/^ *#/d' -e 's/  # \(file\|environment\|flag\)$//' "$@"; }

@test "--print-config: a file that --config reads back; what is not set is a comment, what is internal is not there" {
	printf 'version: 1\nsteps: {hang_after: 90s}\nstore: {keep: 1500ms}\n' >"$T/config"
	set -- --allow 'command=a "b" \c: d # e' --deny user=x --deny 'namespace=é *' --range 'va{l}, "x*=y"=EVAL' \
		--exclude '2026-01-01T00:00:00Z,1767312000,new: "year", # 1' --window-length 2h --flops 1.2345678912345e15 \
		--overhead-budget 0.0001 --price '$2.50' --feature file=off --perf-tag=-x --listen unix:/a/b --node-name 'n: ' \
		--hang-after 1500ms --hook-user "- me"
	GP_BPF_GCM_REPLICA=7 GP_BPF_DURABLE=0 GP_BPF_SESSION_TAG='#1' run -0 "$GP_BPF" node --config "$T/config" "$@" --print-config
	echo "$output" >"$T/printed"
	grep -qE '^  hang_after: 1500ms  # flag$' "$T/printed"
	grep -qE '^  keep: 1500ms  # file$' "$T/printed"
	grep -qE '^  replica: 7  # environment$' "$T/printed"
	grep -qE '^durable: false  # environment$' "$T/printed"
	run -0 "$GP_BPF" node --config "$T/printed" --print-config
	echo "$output" >"$T/again"
	diff <(settings "$T/printed") <(settings "$T/again")
	equal 0 "$(grep -cE '^[^#].*  # (environment|flag)$' "$T/again" | cat)" "lines from elsewhere than the file"
	[ "$(settings "$T/again" | wc -l)" -gt 30 ]
	# Nothing is set: all are comments, and defaults are as a file would have them.
	run -0 "$GP_BPF" node --print-config
	equal "version: 1" "$(settings <<<"$output")" "what is set"
	for line in '#listen: 127.0.0.1:9847' '#  size: 256M' '#  pause: 10s' '#  overhead: 0.1' '#durable: true' '#  level: info' '#windows: \[1h, 24h, 7d\]'; do
		grep -q "^$line  # default\$" <<<"$output"
	done
	for line in '#accelerators: N' '#  hang_after: DURATION' '#  deny: \[KEY=GLOB\]'; do grep -q "^$line\$" <<<"$output"; done
	run -1 grep -iE 'ready.fd|print.config|^ *#?root|=-|: -1|: 0$' <<<"$output"
	# Taken out of the comments they are read.
	"$GP_BPF" node --print-config | sed -E '/^#[a-z_]+:$/{s/^#//;h;d}; /^#(  )?[a-z_]+: .*# default$/!d; s/^#//; /^  /{x;/./{p;s/.*//};x}' >"$T/defaults"
	sed -i '1i version: 1' "$T/defaults"
	[ "$(wc -l <"$T/defaults")" -gt 15 ]
	"$GP_BPF" node --config "$T/defaults" --print-config | settings >"$T/taken"
	diff <(sed 's/  # default$//' "$T/defaults" | grep -o '^ *[a-z_]*:' | sort) <(grep -o '^ *[a-z_]*:' "$T/taken" | sort)
}

@test "--print-config: of an address its host alone, as a comment; what no file holds is one too" {
	run -0 --separate-stderr "$GP_BPF" --pid 42 --for 3s --on hang=https://host/SECRET --on disruption=/bin/page --api-server https://host/SECRET --print-config
	echo "$output" >"$T/printed"
	run -1 grep SECRET "$T/printed"
	for line in '# --pid 42  # flag' '# --for 3s  # flag' '#  - hang=https://host/...  # flag; only shown up to its host' \
		'  - disruption=/bin/page  # flag' '#  api_server: https://host/...  # flag; only shown up to its host'; do
		grep -qxF -- "$line" "$T/printed" || { echo "no line $line" >&2; return 1; }
	done
	run -0 --separate-stderr "$GP_BPF" --pid 42 --config "$T/printed" --print-config
	equal "$(printf 'version: 1\nhooks:\n  - disruption=/bin/page')" "$(settings <<<"$output")" "what is read back"
}

@test "a key that a command has no use for is told by file and line" {
	printf 'version: 1\nsteps:\n  multiply: 2\nprobes: %s\n' "$TOP/probes" >"$T/config"
	run -0 --separate-stderr "$GP_BPF" probes --config "$T/config"
	equal 1 "$(grep -c . <<<"$stderr")" "lines: $stderr"
	[[ $stderr == *"$T/config:3: steps.multiply has no effect here"* ]]
	run -0 --separate-stderr "$GP_BPF" run --config "$T/config" --print-config
	equal "" "$stderr"
}

@test "make: an unknown kernel or fuzz target is an error that names those there are" {
	need_program make
	run -2 --separate-stderr "$TOP/tests/kernels/kernels.sh" 9.9
	one_line 9.9 6.12
	run -2 --separate-stderr make -s -C "$TOP" fuzz ONLY=nothing_of_the_kind
	one_line nothing_of_the_kind symbol_cache
}

@test "files under a probed name that are no libraries" {
	need_probes
	local size kind
	for kind in noise empty header cut; do
		mkdir "$T/$kind"
	done
	head -c 8192 /dev/urandom >"$T/noise/libtorch_cpu.so"
	: >"$T/empty/libtorch_cpu.so"
	{ head -c 64 "$FAKE/libtorch_cpu.so"; head -c 8192 /dev/zero | tr '\0' '\377'; } >"$T/header/libtorch_cpu.so"
	size=$(stat -c %s "$FAKE/libtorch_cpu.so")
	head -c $((size / 2)) "$FAKE/libtorch_cpu.so" >"$T/cut/libtorch_cpu.so"
	start_job "$FAKE/map" "$T"/{noise,empty,header,cut}/libtorch_cpu.so
	job_line mapped
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_end
	watch_end
	sound "$T/out"
	for kind in noise empty header cut; do
		run "$GP_BPF" check --library "$T/$kind/libtorch_cpu.so"
		[ "$status" -le 1 ]
	done
}

@test "a C++ exception passes through every probed function" {
	need_probes
	local functions libraries idle
	# Probes of group measure are attached only while something is measured.
	idle=$(awk -v RS= '/group: measure/' "$TOP"/probes/*.yaml | grep -oE '(prefix|symbol): _Z[A-Za-z0-9_]+' | sort -u | grep -c .)
	functions=$(grep -c PROBED "$FAKE/probed.h")
	libraries=("$FAKE"/thrown/*)
	start_job "$FAKE/throw" 1009 "${libraries[@]}"
	job_line loaded
	start_watch --pid "$JOB" --quiet --export "json:$T/out"
	job_go
	job_line caught
	equal "caught $((${#libraries[@]} * functions * 1009))" "$LINE"
	job_end
	watch_end
	sound "$T/out"
	run -0 jq 'select(.type == "end") | .overhead.hits' "$T/out"
	[ "$output" -gt "$(((functions - idle) * 1009))" ]
}

@test "files that cannot be written" {
	run -1 --separate-stderr "$GP_BPF" run --quiet --export "json:$T/no/such/folder" -- touch "$T/started"
	one_line "$T/no/such/folder"
	run -1 --separate-stderr "$GP_BPF" record -o "$T/no/such/folder" -- touch "$T/started"
	one_line "$T/no/such/folder"
	[ ! -e "$T/started" ]
}

@test "a thread is not a process" {
	need_probes
	local tid
	python3 - "$T/tid" <<'P' &
import sys, threading
def wait():
    with open(sys.argv[1], "w") as f:
        f.write(str(threading.get_native_id()))
    threading.Event().wait(30)
threading.Thread(target=wait, daemon=True).start()
threading.Event().wait(30)
P
	STARTED+=("$!")
	until_true test -s "$T/tid"
	tid=$(cat "$T/tid")
	run -1 --separate-stderr "$GP_BPF" --pid "$tid" --quiet
	[[ $stderr == *"thread of process"* ]]
}

@test "output that cannot be written is told by the exit status" {
	run -1 --separate-stderr bash -c '"$1" probes >/dev/full' - "$GP_BPF"
	[[ $stderr == *"standard output"* ]]
	run -1 --separate-stderr bash -c '"$1" --version >/dev/full' - "$GP_BPF"
	run -1 --separate-stderr bash -c '"$1" --version >&-' - "$GP_BPF"
	[[ $stderr == *"standard output"* ]]
}

@test "a limit of the size of files is told, and is the job's own affair" {
	run -1 --separate-stderr bash -c 'ulimit -f 1; "$1" probes >"$2"' - "$GP_BPF" "$T/probes"
	one_line "standard output" "File too large"
	need_probes
	run -153 bash -c '"$1" run --quiet -- sh -c "ulimit -f 1; exec head -c 9999 /dev/zero >$2"' - "$GP_BPF" "$T/zeros"
}

@test "a closed standard error is not given to the export" {
	need_probes
	run -0 bash -c '"$1" run --export "json:$2" -- true 2>&-' - "$GP_BPF" "$T/out"
	jq -es 'length > 1' "$T/out" >/dev/null
}

@test "a command that cannot be started has no report" {
	need_probes
	run -127 --separate-stderr "$GP_BPF" run -- /no/such/command
	[[ $stderr == *"No such file"* ]]
	[[ $stderr != *observed* ]]
}

@test "a tape and a command's output do not share standard output" {
	run -2 --separate-stderr "$GP_BPF" record -o - -- true
	equal "" "$output"
}

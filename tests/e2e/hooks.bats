#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What --on does when a job falls, hangs and goes on: who is told what, with which privileges, and that one who does
# not answer holds up nobody.

# shellcheck disable=SC2016,SC2034,SC2030,SC2031,SC2153,SC2154 # programs of jq and sh; tests are subshells; bats sets stderr; lib.bash reads
load lib
load durable

setup() {
	e2e_setup
	NUMBER=0
	# Others must get there: hooks do not run as root.
	H=$(mktemp -d /tmp/gp-bpf-hooks.XXXXXX)
	chmod 755 "$H"
	mkdir "$H/out"
	chmod 777 "$H/out"
	hook note "cat >'$H/out/'\$GP_BPF_EVENT.\$\$"
}
teardown() {
	e2e_teardown
	drop_pins "$T/state"
	rm -rf "$H"
}

# A hook of that name, a script.
hook() { # name lines
	printf '#!/bin/sh\n%s\n' "$2" >"$H/$1"
	chmod 755 "$H/$1"
}
told() { # event count
	[ "$(find "$H/out" -name "$1.*" -size +0 | wc -l)" -eq "$2" ]
}
is_told() { # event count
	until_true told "$1" "$2" || { ls -l "$H/out" "$H"; cat "$T"/*.err; } >&2
	told "$1" "$2"
}
# A training that is killed after 50 steps, and is started again.
falls_once() { # options of gp-bpf...
	echo "'$TRAIN' load wait steps=50 kill=9; '$TRAIN' load wait steps=50" >"$T/loop.sh"
	"$GP_BPF" run --quiet --job demo --export "json:$T/out" "$@" -- bash "$T/loop.sh" >"$T/its" 2>"$T/run.err"
}
# Each body is the line of the file, and what is known of the hook.
as_in_the_file() { # body...
	local body
	for body in "$@"; do
		equal "$(jq -c --argjson seq "$(jq .seq "$body")" 'select(.seq == $seq)' "$T/out")" "$(jq -c 'del(.hook)' "$body")" "$body"
		equal "\"$(hostname)\"" "$(jq .hook.host "$body")" host
		equal "$("$GP_BPF" --version)" "gp-bpf $(jq -r .hook.version "$body")" version
	done
}
trained() { # steps; a job that hangs then, until it is told to go on
	start_job "$TRAIN" load say=held pause "steps=$1" pause steps=23
	job_line held
	start_watch --pid "$JOB" --quiet --job demo --hang-after 1s --export "json:$T/out" "${@:2}"
	job_go
	job_line "steps $1"
}

@test "a job falls and goes on: each is told once, as the line of the file" {
	need_probes
	falls_once --on "disruption,recovered=$H/note"
	equal "" "$(grep ^gp-bpf: "$T/run.err")" stderr
	told disruption 1 && told recovered 1
	as_in_the_file "$H"/out/*
	run -0 jq -c '[.type, .job, .cause, .over, .hook.event, .hook.suppressed]' "$H"/out/disruption.*
	equal '["disruption","demo","killed",false,"disruption",0]' "$output"
	run -0 jq -c '[.over, .disruption, .hook.event]' "$H"/out/recovered.*
	equal '[true,1,"recovered"]' "$output"
}

@test "a hook has no privilege, no descriptor and no variable of gp-bpf's" {
	need_probes
	hook who "{ id -u; id -G; ls /proc/self/fd | wc -l; env | sort | grep -v ^PWD=; pwd; nice; echo \"\$1|\$2\"
		grep -e ^Cap -e ^NoNewPrivs /proc/self/status; ps -o sid= -p \$\$ | grep -c \"^ *\$\$\$\"; } >'$H/out/who.1'"
	SECRET=x falls_once --on "disruption=$H/who 'a b' c"
	echo "# $(tr '\n' ' ' <"$H/out/who.1")" >&3
	run -0 grep -vE '^(SHLVL|_|OLDPWD)=' "$H/out/who.1"
	none=0000000000000000
	# Of the descriptors one is that of the folder that is listed. 19 is the most that nice(1) gives.
	equal "$(printf '%s\n' 65534 65534 4 GP_BPF_EVENT=disruption GP_BPF_JOB=demo LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin / "$(nice -n 5 nice)" "a b|c" \
		$'CapInh:\t'$none $'CapPrm:\t'$none $'CapEff:\t'$none $'CapBnd:\t'$none $'CapAmb:\t'$none $'NoNewPrivs:\t1' 1)" "$output"
}

@test "a hook runs as who called sudo, or as --hook-user says" {
	need_probes
	hook who "id -u >'$H/out/'\$1.1"
	SUDO_UID=$(id -u daemon) falls_once --user root --on "disruption=$H/who sudo"
	equal "$(id -u daemon)" "$(cat "$H/out/sudo.1")"
	SUDO_UID=$(id -u daemon) falls_once --user root --on "disruption=$H/who user" --hook-user bin
	equal "$(id -u bin)" "$(cat "$H/out/user.1")"
}

@test "a hang is told when it begins and when it is over; a hook that hangs too delays nobody" {
	need_probes
	hook stuck "trap '' TERM; echo \$\$ >'$H/out/stuck.1'; sleep 1000; sleep 1000"
	trained 200 --on "hang=$H/stuck" --on "hang=$H/note" --listen "unix:$T/socket"
	is_told hang 1
	is_told stuck 1
	run -0 curl -sS --unix-socket "$T/socket" http://x/metrics
	[[ $output == *'gpbpf_export_up{exporter="hooks"} 1'* ]]
	[[ $output == *'gpbpf_export_dropped_total{exporter="hooks",cause="closing"} 0'* ]]
	job_go
	job_line "steps 23"
	is_told hang 2
	job_end
	watch_end
	steps_are 223 "$T/out"
	as_in_the_file "$H"/out/hang.*
	equal '[false,true]' "$(jq -s -c 'sort_by(.seq) | map(.over)' "$H"/out/hang.*)"
	grep -q "^gp-bpf: warning: --on hang: $H/stuck: killed, because it had not ended when gp-bpf ended$" "$T/watch.err"
	[ ! -e "/proc/$(cat "$H/out/stuck.1")" ]
}

@test "a hook that floods, fails, or is gone is told in a line and harms nobody" {
	need_probes
	hook flood 'exec cat /dev/zero'
	hook fail 'printf "no \033[31mpager\nmore\n" >&2; exit 7'
	cp "$H/note" "$H/gone"
	echo "rm '$H/gone'; chmod 777 '$H/note'; '$TRAIN' load wait steps=50 kill=9" >"$T/loop.sh"
	run -0 --separate-stderr bash -c '"$@" || true' - "$GP_BPF" run --quiet --export "json:$T/out" --on "disruption=$H/flood" \
		--on "disruption=$H/fail" --on "disruption=$H/gone" --on "disruption=$H/note" -- bash "$T/loop.sh"
	echo "$stderr" >"$T/err"
	grep -q "^gp-bpf: warning: --on disruption: $H/flood: wrote more than 1 MiB" "$T/err"
	grep -q "^gp-bpf: warning: --on disruption: $H/fail: exit status 7: no ?\[31mpager$" "$T/err"
	grep -q "^gp-bpf: warning: --on disruption: $H/gone: No such file" "$T/err"
	grep -q "^gp-bpf: warning: --on disruption: $H/note: $H/note can be written by others" "$T/err"
	equal 4 "$(grep -c ^gp-bpf: "$T/err")" lines
	told disruption 0
	steps_are 50 "$T/out"
}

@test "what cannot be, or must not be run is refused in a line" {
	local action
	hook open ''
	chmod 757 "$H/open"
	mkdir -m 777 "$H/folder"
	cp "$H/note" "$H/folder/note"
	ln -s "$H/folder/note" "$H/link"
	touch "$H/text"
	for action in "hang=$H/none" "hang=$H/open" "hang=$H/folder/note" "hang=$H/link" "hang=$H/text" "hang=$H" hang=true hung=/bin/true \
		hang hang=https:// "hang=@$H/note"; do
		run -2 --separate-stderr "$GP_BPF" run --on "$action" -- touch "$T/started"
		equal 1 "$(wc -l <<<"$stderr")" "lines of $action: $stderr"
		[[ $stderr == 'gp-bpf: '* ]]
	done
	run -2 --separate-stderr "$GP_BPF" run --on hang=/bin/true --hook-user nobody-of-that-name -- touch "$T/started"
	[ ! -e "$T/started" ]
	run -2 --separate-stderr "$GP_BPF" replay --on hang=/bin/true "$T/tape"
	[[ $stderr == *"unknown option --on"* ]]
	printf 'version: 1\nhooks:\n  - "hang=/bin/true \\"a b\\""\n  - disruption=%s/open\nhook_user: bin\n' "$H" >"$T/config"
	run -2 --separate-stderr "$GP_BPF" run --config "$T/config" -- touch "$T/started"
	equal "gp-bpf: $T/config:4: hooks disruption=$H/open: $H/open can be written by others (chmod go-w)" "$stderr"
	[ ! -e "$T/started" ]
}

@test "a URL is sent the same, with the file's headers; what is secret is nowhere" {
	need_probes
	cat >"$T/server.py" <<-'PY'
		import http.server, sys
		class Pager(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
		        with open(sys.argv[1], "a") as log:
		            log.write("\n".join([self.path, self.headers["Content-Type"], str(self.headers["Authorization"]), body]))
		        if self.path.startswith("/moved"):
		            self.send_response(302)
		            self.send_header("Location", "/hook/elsewhere")
		        else:
		            self.send_response(204)
		        self.end_headers()
		    def log_message(self, *a):
		        pass
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pager)
		print(server.server_address[1], flush=True)
		server.serve_forever()
	PY
	background /dev/null "$T/port" "$T/server.err" python3 "$T/server.py" "$T/sent"
	until_true test -s "$T/port"
	url=http://127.0.0.1:$(cat "$T/port")
	printf '%s/hook/SECRET\nAuthorization: Bearer SECRET\n' "$url" >"$T/pager"
	chmod 600 "$T/pager"
	falls_once --on "disruption=@$T/pager"
	run -0 head -3 "$T/sent"
	equal $'/hook/SECRET\napplication/json\nBearer SECRET' "$output"
	tail -n +4 "$T/sent" >"$T/body"
	as_in_the_file "$T/body"
	equal "" "$(grep ^gp-bpf: "$T/run.err")" stderr
	rm "$T/sent"
	falls_once --on "recovered=$url/moved?token=SECRET" --log-level debug --store "$T/store"
	grep -q "^gp-bpf: warning: --on recovered: $url: answered HTTP 302$" "$T/run.err"
	equal 1 "$(grep -c ^/ "$T/sent")" requests
	run -1 grep -raq SECRET "$T/run.err" "$T/out" "$T/store"
	equal "hang=$url/... hang=https:///..." "$("$GP_BPF" --print-config --on "hang=$url/x?token=SECRET" --on hang=https://me:SECRET@host/x |
		sed -n 's/^#  - \(hang=.*\)  # flag.*/\1/p' | xargs)" --print-config
	run -1 grep -q SECRET <("$GP_BPF" --print-config --gcm-endpoint https://me:SECRET@host --api-server https://host/SECRET \
		--kubelet me:SECRET@host --export "otlp:https://host/SECRET,interval=1s" --export otlp:https://host?SECRET)
	run -2 "$GP_BPF" --pid $$ --export cloud-monitoring --gcm-endpoint http://me:SECRET@host/
	[[ $output == *"--gcm-endpoint http://: expected"* && $output != *SECRET* ]]
	equal "--on recovered=$url/..." "$(of_type start "$T/out" .command | grep -o -e '--on [^ ]*')"
}

@test "of events of a job one a minute is told, and the last when gp-bpf ends" {
	need_probes
	echo "for i in 1 2 3 4; do '$TRAIN' load wait steps=50 kill=9; done; '$TRAIN' load wait steps=50" >"$T/loop.sh"
	"$GP_BPF" run --quiet --job demo --export "json:$T/out" --on "disruption=$H/note" -- bash "$T/loop.sh" >"$T/its" 2>"$T/run.err"
	equal '[[1,0],[4,2]]' "$(jq -s -c 'sort_by(.seq) | map([.disruption, .hook.suppressed])' "$H"/out/disruption.*)"
}

@test "--durable: what was told before gp-bpf was killed is not told again" {
	need_probes
	echo "'$TRAIN' load wait say=go steps=50 kill=9; read; '$TRAIN' load wait steps=50; read" >"$T/loop.sh"
	start_job bash -c 'read; . "$0"' "$T/loop.sh"
	start_durable --pid "$JOB" --job demo --on "disruption,recovered=$H/note"
	job_go
	is_told disruption 1
	kill_watch
	start_durable --job demo --on "disruption,recovered=$H/note"
	job_go
	is_told recovered 1
	kill_watch
	start_durable --job demo --on "disruption,recovered=$H/note"
	job_go
	job_end
	watch_end
	told disruption 1 && told recovered 1
	as_in_the_file "$H"/out/*
}

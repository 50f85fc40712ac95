#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The archive for a bug report: what is planted as a secret is not in it, whatever is missing on the machine.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # tests are subshells; bats sets stderr and output
load lib

setup_file() { [ -x "$GP_BPF" ]; }
setup() {
	e2e_setup
	mkdir -p "$T/state"
	# As a user who may do nothing, where we are root: less is loaded.
	AS=()
	[ "$EUID" -ne 0 ] || AS=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	chmod 755 "$T" "$T/state"
	chmod o+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_RUN_TMPDIR/test"/*
	mkdir -m 777 "$T/out"
}
teardown() { e2e_teardown; }

# Something like a service: a socket that answers what the files say.
serve() {
	cat >"$T/serve.py" <<-'SERVER'
		import http.server, os, socketserver, sys
		folder, hangs = sys.argv[1], len(sys.argv) > 2
		class Page(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        if hangs:
		            import time
		            time.sleep(600)
		        with open(folder + self.path.replace("/debug", ""), "rb") as f:
		            body = f.read()
		        self.send_response(200)
		        self.send_header("Content-Length", str(len(body)))
		        self.end_headers()
		        self.wfile.write(body)
		    def address_string(self):
		        return "unix"
		server = socketserver.ThreadingUnixStreamServer(folder + "/gp-bpf.sock", Page)
		os.chmod(folder + "/gp-bpf.sock", 0o777)
		server.serve_forever()
	SERVER
	background /dev/null "$T/its" "$T/its.err" python3 "$T/serve.py" "$T/state" "$@"
	until_true test -S "$T/state/gp-bpf.sock"
}
unpack() { tar -xzf "$1" -C "$T" && cat "$T"/gp-bpf-bundle/* >"$T/all"; }

@test "nothing that was planted as a secret is in it" {
	cat >"$T/state/state" <<-'STATE'
		{"type":"report","version":"0.1.0","command":"/home/S3CR01/gp-bpf --on hang=/bin/page S3CR02","ranks":[{"job":"llama",
		"comm":"python","command":"/data/S3CR03/python3 train.py --token=S3CR04 S3CR05","pod":"worker-0","unheard_of":"S3CR06",
		"state":"locked","why":"POST https://u:S3CR07@host/S3CR08?k=S3CR09 failed: Authorization: Bearer S3CR10","file":"/ckpt/S3CR11"}]}
	STATE
	printf 'gpbpf_x{job="llama",command="python --key S3CR12",file="/S3CR13",why="password=S3CR14"} 1\n' >"$T/state/metrics"
	printf 'basic_auth_users:\n  admin: $2y$05$S3CR15S3CR15S3CR15S3CR1uS3CR15S3CR15S3CR15S3CR15S3CR15\n' >"$T/web.yml"
	cat >"$T/config" <<-CONFIG
		version: 1
		exports: ["otlp:http://me:S3CR16@127.0.0.1:4318/S3CR17?token=S3CR18"]
		web_config: $T/web.yml
		hooks: ["hang=/bin/page --token S3CR19 S3CR20", "disruption=https://hooks.example/S3CR21"]
		exclude:
		  - {from: 2026-11-21T12:00:00Z, to: 2026-11-21T14:00:00Z, why: S3CR22}
		kubernetes:
		  api_server: https://me:S3CR23@127.0.0.1/S3CR24
	CONFIG
	chmod 644 "$T/config" "$T/web.yml" "$T/state"/*
	serve
	export GP_BPF_KUBELET=https://me:S3CR25@127.0.0.1:10250/S3CR26 GP_BPF_ON='recovered=/bin/page S3CR27' \
		OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer S3CR28' https_proxy=http://me:S3CR29@proxy:3128
	"${AS[@]}" "$GP_BPF" bundle --state-dir "$T/state" --config "$T/config" -o "$T/out/b.tar.gz" >"$T/said"
	unpack "$T/out/b.tar.gz"
	run -1 grep -o 'S3CR..' "$T/all"
	equal 600 "$(stat -c %a "$T/out/b.tar.gz")" mode
	equal 1 "$(wc -l <"$T/said")" lines
	grep -q 'look at it before you send it' "$T/said"
	# What helps is there.
	grep -q '"job":"llama"' "$T/gp-bpf-bundle/state.json"
	grep -q '"command":"python3"' "$T/gp-bpf-bundle/state.json"
	grep -q 'job="llama"' "$T/gp-bpf-bundle/metrics.txt"
	grep -qE '^# +api_server: https://.*  # file' "$T/gp-bpf-bundle/config.txt"
	grep -q '"GP_BPF_KUBELET"' "$T/gp-bpf-bundle/host.json"
	grep -q 'gp-bpf.sock' "$T/gp-bpf-bundle/folder.json"
	for file in host service check folder state; do jq . "$T/gp-bpf-bundle/$file.json" >/dev/null; done
	for file in "$T"/gp-bpf-bundle/[a-z]*; do grep -q "^$(basename "$file") " "$T/gp-bpf-bundle/MANIFEST"; done
}

@test "--anonymize: names are hashes, the same each time" {
	local first
	printf '{"job":"llama-secret","pod":"worker-of-me","why":"llama-secret fell"}' >"$T/state/state"
	printf 'x{job="llama-secret"} 1\n' >"$T/state/metrics"
	serve
	"${AS[@]}" "$GP_BPF" bundle --anonymize --state-dir "$T/state" --store "$T/none" -o "$T/out/b.tar.gz" >/dev/null
	unpack "$T/out/b.tar.gz"
	run -1 grep -e llama-secret -e worker-of-me "$T/all"
	first=$(jq -r .job "$T/gp-bpf-bundle/state.json")
	equal "$first fell" "$(jq -r .why "$T/gp-bpf-bundle/state.json")"
	equal "x{job=\"$first\"} 1" "$(cat "$T/gp-bpf-bundle/metrics.txt")"
	equal "$(jq -r .host "$T/gp-bpf-bundle/host.json" | cut -c 1-5)" anon-
	# Whose folder it is: in settings, in what state says, in the manifest.
	rm -r "$T/gp-bpf-bundle"
	mkdir -p "$T/home/alice7"
	printf '{"job":"llama","why":"/home/bobby9/ckpt is full"}' >"$T/state/state"
	printf 'version: 1\nstate_dir: %s\nprobes: /home/carol5/probes\nstore: {path: %s/home/alice7/kept.db}\n' "$T/state" "$T" >"$T/home/alice7/config"
	chmod -R o+rX "$T/home"
	"${AS[@]}" "$GP_BPF" bundle --anonymize --config "$T/home/alice7/config" -o "$T/out/c.tar.gz" >/dev/null
	unpack "$T/out/c.tar.gz"
	run -1 grep -e alice7 -e bobby9 -e carol5 "$T/all"
	grep -q '^probes: /home/anon-[0-9a-f]*/probes  # file$' "$T/gp-bpf-bundle/config.txt"
	grep -q -- "--store $T/home/anon-" "$T/gp-bpf-bundle/MANIFEST"
	grep -q "no store at $T/home/anon-[0-9a-f]*/kept.db" "$T/gp-bpf-bundle/jobs.err"
}

@test "where the service is and what it is set to: as --config says, else as the service itself was started" {
	printf '{"job":"llama"}' >"$T/state/state"
	printf 'x{job="llama"} 1\n' >"$T/state/metrics"
	printf 'version: 1\nstate_dir: %s\nsteps: {hang_after: 77s}\n' "$T/state" >"$T/config"
	chmod 644 "$T/config" "$T/state"/*
	serve
	"${AS[@]}" "$GP_BPF" bundle --config "$T/config" -o "$T/out/b.tar.gz" >"$T/said"
	unpack "$T/out/b.tar.gz"
	grep -q '"job":"llama"' "$T/gp-bpf-bundle/state.json"
	grep -q '"mode":"0644"' "$T/gp-bpf-bundle/folder.json"
	rm -r "$T/gp-bpf-bundle"

	# Who holds the lock of the folder is the service.
	: >"$T/state/lock"
	chmod 666 "$T/state/lock"
	cat >"$T/hold.py" <<-'HOLD'
		import fcntl, sys, time
		lock = open(sys.argv[1], "r+")
		fcntl.lockf(lock, fcntl.LOCK_EX)
		print("held", flush=True)
		time.sleep(600)
	HOLD
	cd "$T"
	sed -i "s|^state_dir: .*|state_dir: state\nstore: {path: kept.db}|" config
	background /dev/null "$T/held" "$T/held.err" "${AS[@]}" env GP_BPF_LISTEN=:9 GP_BPF_API_SERVER=https://u:S3CR01@h/S3CR02 \
		GP_BPF_ON='hang=/bin/page S3CR03' GP_BPF_ACCESS_TOKEN=S3CR04 PATH_OF_MINE=S3CR05 \
		/usr/bin/python3 "$T/hold.py" "$T/state/lock" --config config
	until_true grep -q held "$T/held"
	"${AS[@]}" "$GP_BPF" bundle --state-dir "$T/state" -o "$T/out/c.tar.gz" >"$T/said"
	unpack "$T/out/c.tar.gz"
	grep -q '^  hang_after: 77s  # file' "$T/gp-bpf-bundle/config.txt"
	grep -qE "^config.txt .* --config $T/config" "$T/gp-bpf-bundle/MANIFEST"
	# Its own environment; places that its settings name are where it works.
	equal '["GP_BPF_LISTEN=:9","GP_BPF_API_SERVER=https://","GP_BPF_ON=[masked]","GP_BPF_ACCESS_TOKEN=[masked]"]' \
		"$(jq -c .environment "$T/gp-bpf-bundle/service.json")"
	run -1 grep -o 'S3CR..' "$T/all"
	cd /
	grep -q "no store at $T/kept.db" "$T/gp-bpf-bundle/jobs.err"
	cd "$T"
	"${AS[@]}" "$GP_BPF" bundle --config config -o "$T/out/d.tar.gz" >"$T/said"
	unpack "$T/out/d.tar.gz"
	grep -q '"job":"llama"' "$T/gp-bpf-bundle/state.json"
}

@test "no service, no state folder, no privilege: what is missing is told" {
	"${AS[@]}" "$GP_BPF" bundle --json --state-dir "$T/none" -o "$T/out/b.tar.gz" >"$T/said"
	equal "$T/out/b.tar.gz" "$(jq -r .file "$T/said")"
	equal '"no service is running"' "$(jq '.files[] | select(.name == "state.json").note' "$T/said")"
	equal '"No such file or directory"' "$(jq '.files[] | select(.name == "folder.json").note' "$T/said")"
	unpack "$T/out/b.tar.gz"
	jq -e '.features | length > 5' "$T/gp-bpf-bundle/check.json"
	equal 3 "$(jq -n --slurpfile a "$T/said" '$a[0].files | map(select(.name == "check.json"))[0].note | .[-1:] | tonumber')" status
	python3 -c 'import sys, tarfile; assert all(m.mode == 0o600 and m.isreg() for m in tarfile.open(sys.argv[1]))' "$T/out/b.tar.gz"
}

@test "no file is written over, and a wrong word is told" {
	echo mine >"$T/out/b.tar.gz"
	run -1 --separate-stderr "${AS[@]}" "$GP_BPF" bundle -o "$T/out/b.tar.gz"
	[[ $stderr == *"exists already"* ]]
	equal mine "$(cat "$T/out/b.tar.gz")"
	ln -s "$T/none" "$T/out/link"
	run -1 --separate-stderr "${AS[@]}" "$GP_BPF" bundle --state-dir "$T/none" -o "$T/out/link"
	[ ! -e "$T/none" ]
	run -2 "${AS[@]}" "$GP_BPF" bundle word
}

@test "a service that does not answer is waited for 5 s a page" {
	local start=$SECONDS
	serve hangs
	"${AS[@]}" "$GP_BPF" bundle --json --state-dir "$T/state" -o "$T/out/b.tar.gz" >"$T/said"
	[[ $(jq -r '.files[] | select(.name == "metrics.txt").note' "$T/said") == "no answer: "* ]]
	[ $((SECONDS - start)) -lt 90 ]
}

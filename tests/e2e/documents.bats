#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# README.md and docs/: each command in them runs, or its options and settings are checked; links, lengths and questions of pages.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # programs of sh; tests are subshells; bats sets output and status
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_program jq
	COMMANDS=$TOP/tests/tools/doc_commands.py
}
teardown() { e2e_teardown; }

# Commands that are not run here: a part of the command, then the reason. Options are checked of all of them, settings too where
# gp-bpf would watch and the reason is not about a file.
not_run() {
	cat <<-'TABLE'
		make	make check builds, installs and tests
		curl	the server is that of another command
		gp-bpf detach	removes what other tests have pinned
		gp-bpf node	watches every job of this machine
		gp-bpf top	without a service it probes every job of this machine
		--durable	pins links for the whole machine
		--on 	its programs and files are not here
		--listen :9847	the port may be in use
		-e prometheus	the port may be in use
		--export otlp	needs a Collector
		--export cloud-monitoring	needs Google Cloud
	TABLE
}
reason_of() { # command; prints why it is not run
	local part reason
	[[ $1 != *--print-config* && $1 != *--dry-run* ]] || return 1
	while IFS=$'\t' read -r part reason; do
		[[ $1 != *"$part"* ]] || { echo "$reason"; return 0; }
	done < <(not_run)
	return 1
}

# gp-bpf as the documents call it: process 4242 is a trainer, watching ends by itself; with SETTINGS=1 settings are checked alone.
stand_ins() {
	mkdir -p "$T/bin" "$T/work"
	cat >"$T/bin/gp-bpf" <<-'SCRIPT'
		#!/bin/bash
		words=() more=()
		for word; do
			case $word in
			4242) word=$JOB ;;
			/etc/gp-bpf/config.yaml) word=$TOP/deploy/config.yaml ;;
			/shared/gp-bpf) word=. ;;
			esac
			words+=("$word")
		done
		case $1 in
		--durable) more=(--pid "$JOB") ;;
		account) [[ $* != *--follow* ]] || more=(--for 100ms) ;;
		--pid)
			more=(--for 200ms --quiet)
			[[ $* != *json:* ]] || more=(--for 1s --quiet)
			[ -z "$SETTINGS" ] || more=()
			;;
		esac
		[ -z "$SETTINGS" ] || more+=(--print-config)
		case $1 in
		-*) exec "$GP_BPF" "${more[@]}" "${words[@]}" ;;
		*) exec "$GP_BPF" "$1" "${more[@]}" "${words[@]:1}" ;;
		esac
	SCRIPT
	printf '#!/bin/sh\nexec "$@"\n' >"$T/bin/sudo"
	printf '#!/bin/sh\nexec "$TRAIN" load wait steps=23\n' >"$T/bin/python"
	printf '#!/bin/sh\ncat run.jsonl\n' >"$T/bin/gcloud"
	cp "$T/bin/python" "$T/bin/python3"
	chmod +x "$T"/bin/*
	export TOP GP_BPF JOB PATH=$T/bin:$PATH GP_BPF_STATE_DIR=$T/state SETTINGS=
	mkdir -m 700 "$T/state"
}

@test "each command runs, or its settings are right" {
	local document line text reason bad=0 run=0
	need_probes
	"$COMMANDS" list >"$T/list" # before python3 is another one
	start_job "$TRAIN" load pace=5000 steps=100000
	stand_ins
	cd "$T/work"
	jq -c . "$TOP/tests/account/quirks/below_segment.jsonl" | jq -c '.job_name = "JOB"' >run.jsonl
	gzip -k run.jsonl
	"$GP_BPF" account --quiet --store runs.db run.jsonl >"$T/made" 2>&1
	"$GP_BPF" record --quiet -o tape --pid "$JOB" --for 1s
	cp tape job.tape
	cp "$(readlink -f "$GP_BPF")" libtorch_cpu.so
	echo 'basic_auth_users: {}' >web.yaml
	while IFS=$'\t' read -r document line text; do
		if reason=$(reason_of "$text"); then
			[[ $text == *gp-bpf*"--pid"* || $text == *"gp-bpf node"* || $text == *"gp-bpf run"* ]] || continue
			[[ $text != *--on* && $text != *'|'* && $text != *' -- '* ]] || continue
			SETTINGS=1 bash -o pipefail -c "$text" >"$T/said" 2>&1 </dev/null && continue
		else
			run=$((run + 1))
			timeout 20 bash -o pipefail -c "$text" >"$T/said" 2>&1 </dev/null && continue
		fi
		echo "$document:$line: $text: status $?: $(tail -n 3 "$T/said")" >&2
		bad=1
	done <"$T/list"
	equal 0 "$bad" "commands that failed"
	[ "$run" -ge 30 ]
}

@test "each option in them exists, and one that does not is found" {
	run -0 "$COMMANDS" check
	run -1 "$COMMANDS" check 'sudo gp-bpf node --nothing 1 | gp-bpf replay -- --more'
	equal "text:1: gp-bpf node has no option --nothing" "$output"
	run -1 "$COMMANDS" check 'gp-bpf nothing'
}

@test "each row of the table of commands that are not run is needed" {
	local part reason
	"$COMMANDS" list >"$T/list"
	while IFS=$'\t' read -r part reason; do
		grep -qF -- "$part" "$T/list" || { echo "no command has: $part" >&2; return 1; }
	done < <(not_run)
}

@test "links lead to files and headings" {
	run -0 "$TOP/tests/tools/doc_names.py"
}

@test "the index has every page; a page for users begins with a question, and none is too long" {
	local page name
	cd "$TOP/docs"
	for page in *.md; do
		[ "$page" = README.md ] || grep -qF "($page)" README.md || { echo "$page is not in docs/README.md" >&2; return 1; }
		name=${page%.md}
		case $name in
		README | architecture | extending | glossary) continue ;;
		esac
		sed -n 3,4p "$page" | grep -q '?' || { echo "$page begins with no question" >&2; return 1; }
		[ "$(wc -l <"$page")" -le 250 ] || { echo "$page is longer than 250 lines" >&2; return 1; }
	done
	[ "$(wc -l <"$TOP/README.md")" -le 250 ]
}

@test "the manual's tables are those of the program, and a change is found" {
	run -0 "$TOP/tests/tools/man_tables.py"
	printf '#!/bin/sh\n"%s" "$@" | sed "s/show the live view/show no live view/"\n' "$GP_BPF" >"$T/other"
	chmod +x "$T/other"
	run -1 env GP_BPF="$T/other" "$TOP/tests/tools/man_tables.py"
	[[ $output == *"man/gp-bpf.8: its table Options is not that of"* ]]
}

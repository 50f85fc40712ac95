#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Completion of command lines: what is offered is what the program accepts, in real shells at a terminal.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of shells; tests are subshells; bats sets stderr
load lib

setup_file() { [ -x "$GP_BPF" ]; }
setup() {
	e2e_setup
	mkdir -p "$T/bin" "$T/here/folder" "$T/xdg"
	export XDG_STATE_HOME=$T/xdg
	unset GP_BPF_STORE GP_BPF_STATE_DIR
	touch "$T/here/tape one" "$T/here/tape" "$T/here/folder/inner"
	# Completes by the real one; started, it writes down with what.
	cat >"$T/bin/gp-bpf" <<-SCRIPT
		#!/bin/sh
		[ "\$1" != completion ] || exec "$GP_BPF" "\$@"
		printf '%s\n' "\$@" >"$T/typed.new" && mv "$T/typed.new" "$T/typed"
	SCRIPT
	chmod +x "$T/bin/gp-bpf"
}
teardown() { e2e_teardown; }

answer() { "$GP_BPF" completion words -- "$@"; }
offered() { answer "$@" | sed '$d' | cut -f 1; } # WORD...
kind() { answer "$@" | tail -1 | cut -d ' ' -f 1-2; }
commands() { "$GP_BPF" --help=all | sed -n 's/^  gp-bpf \([a-z-]*\) .*/\1/p'; }
help_of() { if [ "$1" = --pid ]; then "$GP_BPF" --pid 1 --help=all; else "$GP_BPF" "$1" --help=all; fi; }
help_text() { help_of "$1" | sed -n "/^ *$2 /,/^\\( *-\\|$\\)/p" | sed '1s/^ *--[a-z-]*\( [A-Z=]*\)\? *//; 1!{ /^ *-/d; /^$/d; s/^ */ /; }' | tr -d '\n'; } # COMMAND OPTION
rc() { # shell
	need_program "$1"
	case $1 in
	bash)
		[ -r /usr/share/bash-completion/bash_completion ] || cannot "bash-completion is missing (make deps)"
		printf '. /usr/share/bash-completion/bash_completion\n. <(gp-bpf completion bash)\nPS1="ready>"\n' >"$T/rc"
		;;
	zsh) printf 'autoload -U compinit; compinit -u -D; source <(gp-bpf completion zsh)\nPS1="ready>"\n' >"$T/.zshrc" ;;
	fish) printf 'gp-bpf completion fish | source\nfunction fish_prompt; echo -n "ready>"; end\nset -g fish_greeting\n' >"$T/rc" ;;
	esac
}
a_log() { # job
	jq -nc --arg n "$1" '{job_name: $n, job_start_time: 1700000000}, {job_name: $n, job_end_time: 1700000100}'
}
typed() { # shell text words...
	local is
	is=$("$TOP/tests/tools/complete.py" "$1" "$T" "$2" | paste -sd '|')
	equal "$3" "${is%/}" "$1: $2" # zsh takes the last / back
}

@test "every command and every option of each is offered, and nothing else, with its help" {
	local c
	local -a first
	equal "$(commands | sort)" "$(offered "" | sort)" commands
	for c in $(commands); do
		first=("$c")
		[ "$c" != --pid ] || first=()
		equal "$(help_of "$c" | grep -oE '^ {2,6}(-[a-zA-Z], )?--[a-z-]+' | grep -oE -e '--.*' | sort)" \
			"$(offered "${first[@]}" -- | sort)" "options of $c"
	done
	equal "$(help_text run --live)" "$(answer run --live | sed -n 's/^--live\t//p')" help
	equal "$(help_text top --deny)" "$(answer top --deny | sed -n 's/^--deny\t//p')" help
}

@test "values that are offered are accepted, and all that are accepted are offered" {
	local word
	a_log one >"$T/log"
	for word in $(offered probes --log-level "") ; do "$GP_BPF" probes --log-level "$word" >/dev/null; done
	equal "debug error info warning" "$(offered probes --log-level "" | sort | xargs)"
	equal "off on" "$(offered node --sandbox "" | sort | xargs)"
	for word in $(offered probes --log-format ""); do "$GP_BPF" probes --log-format "$word" >/dev/null; done
	# As the registry has them; all but hooks and the socket, which are no names.
	equal "$(sed -n '/^#define EXPORTERS(X)/,/^$/s/^\tX(\([a-z_]*\)).*/\1/p' "$TOP/userspace/export/exporter.h" | tr _ - | sort -u | xargs)" \
		"$(offered replay --export "" | tr -d : | sort -u | xargs)" exporters
	run -2 --separate-stderr "$GP_BPF" top --sort nothing
	for word in $(offered top --sort ""); do [[ $stderr == *"$word"* ]]; done
	equal "$("$GP_BPF" check --json 2>/dev/null | jq -r '.. | objects | select(has("purpose")).name' | sort | xargs)" \
		"$(offered check --feature "" | sed 's/=off//' | sort | xargs)" features
	for word in $(offered node --accelerator ""); do
		"$GP_BPF" node --accelerator "$word" --print-config >/dev/null
	done
	run -2 --separate-stderr "$GP_BPF" node --deny nothing=1
	for word in $(offered node --deny ""); do [[ $stderr == *"${word%=}"* ]]; done
	for word in $(offered account --semantics ""); do "$GP_BPF" account --semantics "$word" "$T/log" >/dev/null; done
	for word in $(offered account --calculator ""); do "$GP_BPF" account --calculator "$word" "$T/log" >/dev/null; done
	# Boundaries, and the probes that are not counted alone.
	"$GP_BPF" probes >"$T/probes"
	for word in $(offered --pid 1 --marker "" | grep -v '\.'); do [[ $("$GP_BPF" --pid 1 --help=all) == *"$word"* ]]; done
	[ "$(offered --pid 1 --marker "" | grep -vc '\.')" -eq 7 ]
	equal "$(sed -n '/, counted/d; s/^\([a-z_]*\.[a-z_0-9]*\)  .*/\1/p' "$T/probes" | grep '^opencl\.' | sort | xargs)" \
		"$(offered --pid 1 --marker opencl. | sort | xargs)" "probes of OpenCL that are told one by one"
	equal "$(sed -n '/^opencl.finish /,/why/s/^  why *//p' "$T/probes")" "$(answer --pid 1 --marker opencl.finish | sed -n 's/^opencl.finish\t//p')" why
	mkdir "$T/more"
	printf 'runtime: mine\nlibraries: [libmine.so]\nprobes:\n  - id: finish\n    symbol: mine_finish\n    group: fault\n    role: sync\n    why: it is done\n' >"$T/more/mine.yaml"
	equal $'mine.finish\tit is done' "$(answer --pid 1 --probes "$T/more" --marker mine. | sed '$d')" "a probe of one's own"
	echo nonsense >"$T/more/mine.yaml"
	run -0 --separate-stderr answer --pid 1 --probes "$T/more" --marker opencl.finish
	equal "" "$stderr" "what TAB says of a probe file that cannot be read"
	for word in $(offered completion ""); do [ -n "$("$GP_BPF" completion "$word")" ]; done
	run -2 "$GP_BPF" completion tcsh
	run -2 "$GP_BPF" completion
}

@test "paths, pids, command lines: who completes them, from where" {
	equal ":file 0" "$(kind run -o "")"
	equal ":file 9" "$(kind record --output=ta)" # abbreviated or not
	equal ":file 6" "$(kind record --out=ta)"
	equal ":dir 0" "$(kind --probes "")"
	equal ":pid 0" "$(kind --pid "")"
	equal ":pid 6" "$(kind record --pid=4)"
	equal ":file 14" "$(kind run --export=json:/tm)"
	equal ":dir 4" "$(kind report -e csv:)"
	equal ":file 16" "$(kind node --on disruption,hang=/)"
	equal ":file 0" "$(kind replay "")"
	equal ":words 0" "$(kind replay tape "")"
	equal ":file 0" "$(kind account one two "")"
	equal ":command 2" "$(kind run -q "")"
	equal ":command 2" "$(kind run -- "")"
	equal ":command 3" "$(kind run --live -- python -)"
	equal ":command 3" "$(kind record -o tape python --export "")"
	equal ":words 0" "$(kind --interval "")"
	equal ":file 0" "$(kind --store "")"
	equal "default none" "$(offered --store "" | xargs)"
	equal ":dir 0" "$(kind --carry "")"
	equal "configmap" "$(offered --carry "" | xargs)"
	equal "" "$(offered nothing --)" "of no command"
}

@test "jobs of the store, whatever they are called, and quiet where there is none" {
	a_log "one two" >"$T/log"
	"$GP_BPF" account --quiet --store "$T/store" "$T/log" >/dev/null
	equal "one two" "$(offered report --store "$T/store" "")"
	equal "one two" "$(offered jobs --store="$T/store" o)"
	equal "one two" "$(offered report --store "$T/store" --compare "")"
	equal "one two" "$(GP_BPF_STORE=$T/store offered mark "")"
	equal "" "$(GP_BPF_STORE=$T/store offered mark one "")"
	equal "" "$(offered report --store "$T/none" "" 2>&1)"
	equal "" "$(offered report --store "$T/log" "" 2>&1)"
	mkfifo "$T/fifo"
	equal "" "$(offered report --store "$T/fifo" "" 2>&1)"
	equal "" "$(offered report --state-dir "$T" "" 2>&1)"
}

@test "a job's name runs nothing in a shell" {
	local shell hostile='$(touch x)`touch y`;touch z'
	a_log "$hostile" >"$T/log"
	"$GP_BPF" account --quiet --store "$T/store" "$T/log" >/dev/null
	for shell in bash zsh fish; do
		rc "$shell"
		typed "$shell" "gp-bpf report --store $T/store " "report|--store|$T/store|$hostile"
		equal "" "$(cd "$T/here" && ls x y z 2>/dev/null)" "$shell ran it"
	done
}

in_shell() { # shell
	rc "$1"
	typed "$1" 'gp-bpf prob' probes
	typed "$1" 'gp-bpf check --overhead-b' 'check|--overhead-budget'
	typed "$1" 'gp-bpf check --log-level w' 'check|--log-level|warning'
	typed "$1" 'gp-bpf check --log-level=deb' 'check|--log-level=debug'
	typed "$1" 'gp-bpf replay tape\ o' 'replay|tape one'
	typed "$1" 'gp-bpf node --export js^Ifolder/in' 'node|--export|json:folder/inner'
	typed "$1" 'gp-bpf node --export=json:folder/in' 'node|--export=json:folder/inner'
	typed "$1" 'gp-bpf node --on disruption,ha^Ifolder/in' 'node|--on|disruption,hang=folder/inner'
	typed "$1" 'gp-bpf node --probes fol' 'node|--probes|folder'
	typed "$1" 'gp-bpf run --export json:x -- cat folder/in' 'run|--export|json:x|--|cat|folder/inner'
}
@test "bash, at a terminal" { in_shell bash; }
@test "zsh, at a terminal" { in_shell zsh; }
@test "fish, at a terminal" { in_shell fish; }

@test "pids, at a terminal of each shell" {
	local shell
	background /dev/null "$T/out" "$T/err" sleep 600
	for shell in bash zsh fish; do
		rc "$shell"
		# The last digit alone is left to complete: others may begin so, then the shell only waits.
		typed "$shell" "gp-bpf check --pid $LAST" "check|--pid|$LAST"
	done
}

@test "bash without bash-completion" {
	printf '. <(gp-bpf completion bash)\nPS1="ready>"\n' >"$T/rc"
	typed bash 'gp-bpf check --overhead-b' 'check|--overhead-budget'
	typed bash 'gp-bpf check --log-level w' 'check|--log-level|warning'
	typed bash 'gp-bpf replay folder/in' 'replay|folder/inner'
}

@test "zsh loads it from a folder of functions" {
	need_program zsh
	mkdir "$T/functions"
	"$GP_BPF" completion zsh >"$T/functions/_gp-bpf"
	printf 'fpath=(%s/functions $fpath); autoload -U compinit; compinit -u -D\nPS1="ready>"\n' "$T" >"$T/.zshrc"
	typed zsh 'gp-bpf ch^I--overhead-b' 'check|--overhead-budget'
}

@test "the script of bash is what shellcheck likes" {
	need_program shellcheck
	"$GP_BPF" completion bash >"$T/script"
	shellcheck -s bash "$T/script"
}

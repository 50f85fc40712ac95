#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One job told as text, as an object and as a page: from a store, and from a run or a tape.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() { e2e_setup; }
teardown() { e2e_teardown; }

HOSTILE='<script>alert("1")</script> & '"'job'"

# A job that falls at step 100 and is run again.
falls() { # options of run...
	run -0 "$GP_BPF" run --quiet "$@" -o /dev/null -- \
		sh -c "'$TRAIN' load wait pace=1000 steps=60 save=/srv/a.pt steps=40 exit=3; '$TRAIN' load wait pace=1000 steps=80"
}
REPORT() { "$GP_BPF" report --store "$T/store.db" "$@"; }

# A page is well-formed, loads and runs nothing, and says the numbers of the object.
page_is() { # page object
	python3 - "$1" "$2" <<'PY'
import json, re, sys
import xml.etree.ElementTree as ET
page, told = open(sys.argv[1], encoding="utf-8").read(), json.load(open(sys.argv[2], encoding="utf-8"))
assert page.startswith("<!DOCTYPE html>"), "no doctype"
tree = ET.fromstring(page.removeprefix("<!DOCTYPE html>"))
tags = {e.tag for e in tree.iter()}
assert not tags & {"script", "link", "img", "iframe", "object", "base", "form"}, tags
assert not [e for e in tree.iter() if set(e.attrib) & {"src", "href", "srcset", "onload"}]
assert not re.search(r"https?:|url\(|@import", page), "refers to another place"
assert len(page) < 3e6, len(page)
ids = [e.attrib["id"] for e in tree.iter() if "id" in e.attrib]
assert len(ids) == len(set(ids)), "an id is there twice"
for e in tree.iter():
    assert all(i in ids for i in e.attrib.get("aria-labelledby", "").split()), e.attrib
    if e.tag == "svg":
        assert "aria-hidden" in e.attrib or e.find("title") is not None, "a chart without a title"
shown = {}
for e in tree.iter("data"):
    shown.setdefault(e.attrib["class"], []).append(int(e.attrib["value"]))
def same(name, value):
    assert set(shown.get(name, [])) == {value}, (name, value, shown.get(name))
for name in ("elapsed_ns", "observed_ns", "steps", "disruptions_count", "max_step"):
    same(name, told[name])
for name in ("p50_ns", "p95_ns", "p99_ns", "max_ns", "ideal_ns"):
    same(name, told["step_time"][name])
for name, value in told["buckets"].items():
    if value:
        same(name, value)
for name in ("recovery_ns", "wasted_ns"):
    assert shown.get(name, []) == [d[name] for d in told["disruptions"] if d[name] is not None], name
assert sum(told["buckets"].values()) == told["elapsed_ns"]
PY
}

@test "a job that fell and was run again: text, object and page of a store" {
	need_probes
	falls --job "$HOSTILE" --store "$T/store.db"
	"$GP_BPF" mark --store "$T/store.db" 1 '</li><script>'
	REPORT --json >"$T/told"
	equal 180 "$(jq .steps "$T/told")" steps
	equal 2 "$(jq '.runs | length' "$T/told")" runs
	equal "[100,80]" "$(jq -c '[.runs[].steps]' "$T/told")" "steps of each run"
	equal 1 "$(jq .disruptions_count "$T/told")" disruptions
	equal '["exit",3,100]' "$(jq -c '.disruptions[0] | [.cause, .exit_code, .step]' "$T/told")" disruption
	equal 1 "$(jq .saves "$T/told")" checkpoints
	equal "$HOSTILE" "$(jq -r .name "$T/told")" name
	REPORT --html "$T/page.html" 1
	page_is "$T/page.html" "$T/told"
	run -0 REPORT "$HOSTILE"
	[[ $output == *"exit, status 3"* && $output == *"runs         2"* && $output == *"= elapsed"* ]]
	[[ $output == *"</li><script>"* ]]
	[[ $output != *$'\033'* ]]
	REPORT --html - | cmp - "$T/page.html"
}

@test "the page of a run, and of its tape: every step, and the same numbers" {
	need_probes
	falls --job taped --store "$T/store.db" --html "$T/run.html"
	REPORT --json >"$T/told"
	page_is "$T/run.html" "$T/told"
	grep -q "every step within" "$T/run.html"
	run -0 "$GP_BPF" record -o "$T/tape" --job slow --quiet -- \
		"$TRAIN" load wait pace=1000 steps=300 pace=90000 steps=1 pace=1000 steps=299
	rm "$T/store.db"
	run -0 "$GP_BPF" replay --quiet --store "$T/store.db" --html "$T/tape.html" "$T/tape"
	REPORT --json >"$T/told"
	page_is "$T/tape.html" "$T/told"
	# The one slow step is in both charts.
	[ "$(jq '.step_time.max_ns > 90000000' "$T/told")" = true ]
	grep -q "600 steps, from .* to 9[0-9]" "$T/tape.html"
}

@test "a span, and time left out this once" {
	need_probes
	falls --job spanned --store "$T/store.db"
	REPORT --json >"$T/all"
	REPORT --json --until now --since 1h spanned >"$T/told"
	equal "$(jq .elapsed_ns "$T/all")" "$(jq .elapsed_ns "$T/told")" elapsed
	REPORT --json --exclude 1h,now >"$T/told"
	equal 0 "$(jq .steps "$T/told")" steps
	equal "$(jq .elapsed_ns "$T/all")" "$(jq .excluded_ns "$T/told")" "left out"
	equal "--exclude" "$(jq -r '.exclusions[0].why' "$T/told")" why
	run -1 --separate-stderr REPORT --until 2020-01-01T00:00:00Z
	[[ $stderr == *"no jobs in this time span"* ]]
	REPORT --json >"$T/told"
	equal 0 "$(jq '.exclusions | length' "$T/told")" exclusions
}

@test "two jobs at once: they are listed, and one is to be named" {
	need_probes
	background /dev/null /dev/null "$T/left.err" "$GP_BPF" run --quiet --job left --store "$T/store.db" -o /dev/null -- \
		"$TRAIN" load wait pace=20000 steps=60
	background /dev/null /dev/null "$T/right.err" "$GP_BPF" run --quiet --job right --store "$T/store.db" -o /dev/null -- \
		"$TRAIN" load wait pace=20000 steps=60
	for job in "${STARTED[@]}"; do
		wait_exit "$job"
		equal 0 "$STATUS" status
	done
	run -1 --separate-stderr REPORT
	equal 1 "$(wc -l <<<"$stderr")" lines
	[[ $stderr == *"2 jobs"* && $output == *left* && $output == *right* ]]
	equal right "$(REPORT --json right | jq -r .name)" name
}

@test "what cannot be told is one line" {
	need_probes
	run -0 "$GP_BPF" run --quiet --job one --store "$T/store.db" -o /dev/null -- "$TRAIN" load wait steps=23
	run -0 "$GP_BPF" run --quiet --job two --store "$T/store.db" -o /dev/null -- "$TRAIN" load wait steps=24
	run -1 --separate-stderr REPORT nobody
	equal 1 "$(wc -l <<<"$stderr")" lines
	[[ $stderr == *"no such job"* && -z $output ]]
	equal 23 "$(REPORT --json one | jq .steps)" steps
	equal 24 "$(REPORT --json | jq .steps)" "steps of the newest"
	for words in "--since yesterday" "--until x" "--since now --until 2h" "--exclude 1h" "--exclude now,2h" "one two"; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr REPORT $words
		equal 1 "$(wc -l <<<"$stderr")" "lines after $words"
	done
	run -1 --separate-stderr REPORT --html "$T/no/such/page.html" one
	[[ $stderr == *"$T/no/such/page.html"* ]]
	run -1 --separate-stderr "$GP_BPF" run --html "$T/no/such/page.html" -- true
	[[ $stderr == *"$T/no/such/page.html"* ]]
	echo old >"$T/old.html"
	for page in "$T/new.html" "$T/old.html"; do
		run -0 --separate-stderr "$GP_BPF" run --quiet --html "$page" -- true
		[[ $stderr == *"no training loop was found"* ]]
	done
	[ ! -e "$T/new.html" ]
	equal old "$(cat "$T/old.html")" "what was there"
	run -2 --separate-stderr "$GP_BPF" --durable --pid 1 --html "$T/page.html"
	[[ $stderr == *"gp-bpf report --html"* ]]
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prometheus rules and alerts, by promtool: they are right, they say what they should of made-up series, each has a case; the kinds for
# Kubernetes are theirs. TAP.
set -eu
cd "$(dirname "$0")/../.."
. tests/deploy/tap.bash
dir=deploy/prometheus
cases=(tests/deploy/rules/*.test.yaml)

each_has_a_case() { # record|alert
	local name bad=0
	while read -r name; do
		grep -qE "(^|[^a-zA-Z0-9_:])$name([^a-zA-Z0-9_:]|$)" "${cases[@]}" || { echo "$name has no case"; bad=1; }
	done < <(sed -n "s/^  - $1: //p" $dir/rules.yaml $dir/alerts.yaml)
	return $bad
}
each_says() { # key: as often as there are alerts
	equal "$(grep -c '^  - alert: ' $dir/alerts.yaml)" "$(grep -cE "^ +(labels: \{)?$1: " $dir/alerts.yaml)"
}

if ! command -v promtool >/dev/null; then
	tap_skip "rules and alerts" "no promtool (on Debian: prometheus)"
else
	tap "rules and alerts are right" promtool check rules $dir/rules.yaml $dir/alerts.yaml
	for file in "${cases[@]}"; do
		tap "cases of $(basename "$file" .test.yaml)" promtool test rules "$file"
	done
fi
tap "each rule has a case" each_has_a_case record
tap "each alert has a case" each_has_a_case alert
for key in severity summary runbook; do
	tap "each alert has a $key" each_says $key
done
tap "the kinds for Kubernetes are made of them" $dir/kinds.py --check
tap_end

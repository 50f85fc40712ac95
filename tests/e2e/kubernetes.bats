#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The pods of a node as a real API server tells them; tests/unit/pods*_test.c have one that does wrong. With ALL=1.

# shellcheck disable=SC2154 # variables are of lib.bash
load lib

setup() { e2e_setup; }
teardown() { e2e_teardown; }

@test "a real cluster: pods, Jobs, evictions, taints; no permission, a restart of the API server" {
	[ -n "${ALL:-}" ] || skip "a real control plane is for ALL=1"
	[ "$EUID" -eq 0 ] || cannot "a network namespace needs root"
	need_program etcd
	"$TOP/tests/tools/kube.sh" build
	[ -n "${BUILT:-}" ] || make -s -C "$TOP" fakes >&2
	"$TOP/tests/tools/kube.sh" run "$TOP/tests/e2e/kubernetes.sh" "$T" "$FAKE/pods_told"
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manifests on a real control plane (tests/tools/kube.sh): each is accepted, strictly; what the service account may and may not;
# on which nodes the pods land; what an update and a removal look like to the pod. TAP.
set -eu
cd "$(dirname "$0")/../.."
. tests/deploy/tap.bash
manifests=deploy/kubernetes

if [ "${1:-}" != inside ]; then
	if ! tests/tools/kube.sh --find >/dev/null 2>&1 && ! command -v go >/dev/null; then
		tap_skip "the manifests on a control plane" "Kubernetes is compiled from source, and there is no go"
		tap_end
		exit
	fi
	tests/tools/kube.sh build
	make -s build/plain/tests/fake/pods_told
	exec tests/tools/kube.sh run "$0" inside
fi
T=$KUBE_DIR/test
mkdir "$T"
account=system:serviceaccount:gp-bpf:gp-bpf

rendered() { kubectl kustomize "$manifests/$1"; }
accepted() { # file or "-"
	kubectl apply --dry-run=server --validate=strict -f "$1"
}
overlay_accepted() { rendered "$1" | accepted -; }
all_labelled() { # overlay: every object
	equal "" "$(rendered "$1" | /usr/bin/python3 -c 'import sys, yaml
for o in yaml.safe_load_all(sys.stdin):
    if o["metadata"].get("labels", {}).get("app.kubernetes.io/part-of") != "gp-bpf":
        print(o["kind"], o["metadata"]["name"])')"
}
misspelt() { # overlay right wrong
	rendered "$1" | sed "s/\b$2\b/$3/" >"$T/misspelt.yaml"
	refused "unknown field" accepted "$T/misspelt.yaml"
}

may() { # yes|no verb resource[.group][/name][:subresource] namespace|all
	local what=${3%%[:/]*} name='' sub='' where=$4
	[[ $3 != */* ]] || name=${3#*/}
	[[ $3 != *:* ]] || sub=${3#*:}
	[ "$where" != all ] || where=
	jq -n --arg user "$account" --arg verb "$2" --arg what "${what%%.*}" --arg group "$(cut -s -d. -f2 <<<"$what")" \
		--arg name "$name" --arg sub "$sub" --arg where "$where" '{
			apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview",
			spec: {
				user: $user, groups: ["system:serviceaccounts", "system:serviceaccounts:gp-bpf", "system:authenticated"],
				resourceAttributes: {$verb, $group, resource: $what, subresource: $sub, $name, namespace: $where}
			}
		}' >"$T/review"
	# kubectl would take a second for each.
	equal "$1" "$(curl -sf --cacert "$KUBE_CA" -H 'Authorization: Bearer administrator' -H 'Content-Type: application/json' \
		--data-binary "@$T/review" "$KUBE_URL/apis/authorization.k8s.io/v1/subjectaccessreviews" |
		jq -r 'if .status.allowed then "yes" elif .status.allowed == false then "no" else . end')"
}
as_account() { kubectl --kubeconfig=/dev/null --server="$KUBE_URL" --certificate-authority="$KUBE_CA" --token="$TOKEN" "$@"; }

on_nodes() { # names, sorted: there and nowhere else, once all is rolled out
	kubectl -n gp-bpf rollout status daemonset/gp-bpf --timeout=240s >/dev/null
	equal "$1" "$(kubectl -n gp-bpf get pods -l app.kubernetes.io/name=gp-bpf --field-selector=status.phase=Running \
		-o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort | xargs)"
}
quick() { # nothing runs in the pods: all at once, to be done soon
	sed 's/terminationGracePeriodSeconds: .*/terminationGracePeriodSeconds: 0/; s/maxUnavailable: 10%/maxUnavailable: 100%/'
}
apply_overlay() { rendered "$1" | quick | kubectl apply -f - >/dev/null; }

kubectl apply -f tests/deploy/crds.yaml >/dev/null
kubectl wait --for=condition=Established crd --all --timeout=60s >/dev/null
kubectl apply -f $manifests/base/namespace.yaml >/dev/null # what a dry run makes is not there for what lies in it

for overlay in base "$manifests"/overlays/*/; do
	overlay=${overlay#"$manifests"/} overlay=${overlay%/}
	tap "$overlay is accepted, strictly" overlay_accepted "$overlay"
	tap "$overlay: each object says what it is part of" all_labelled "$overlay"
done
for sample in allowlist synchronizer; do
	tap "the sample of Autopilot's $sample has the published fields" accepted "$manifests/overlays/autopilot/$sample.yaml"
done
for rules in prometheus_rule gmp_rules; do
	tap "$rules.yaml has the published fields" accepted "deploy/prometheus/$rules.yaml"
done
tap "a field of a pod that is misspelt is refused" misspelt base hostPID hostPid
tap "a field of a ServiceMonitor that is misspelt is refused" misspelt overlays/service-monitor honorLabels honourLabels

apply_overlay base
tap "pods land on the GPU node and the TPU node only" on_nodes "gpu tpu"
kubectl label node cpu gp-bpf/watch= >/dev/null
tap "a node that is labelled by hand has one too" on_nodes "cpu gpu tpu"
apply_overlay overlays/gke-standard
tap "gke-standard: GPU and TPU nodes of GKE only" on_nodes "gpu tpu"
apply_overlay overlays/plain
tap "plain: labelled nodes only" on_nodes "cpu"
apply_overlay overlays/caps-only
tap "caps-only: the same nodes as the base" on_nodes "cpu gpu tpu"
pod_field() { kubectl -n gp-bpf get pods -o jsonpath="{.items[0]$1}"; }
tap "caps-only: no privilege" equal "false [\"BPF\",\"PERFMON\",\"SYS_PTRACE\",\"DAC_READ_SEARCH\",\"CHECKPOINT_RESTORE\",\"SETUID\",\"SETGID\",\"FOWNER\"]" \
	"$(pod_field '.spec.containers[0].securityContext.privileged') $(pod_field '.spec.containers[0].securityContext.capabilities.add')"
tap "no pod is preempted for it" equal "Never 1000000" "$(pod_field .spec.preemptionPolicy) $(pod_field .spec.priority)"

apply_overlay base
on_nodes "cpu gpu tpu" >/dev/null || true
before=$(pod_field .metadata.uid)
cp -r $manifests "$T/manifests"
echo 'log: {level: info}' >>"$T/manifests/base/config.yaml"
kubectl kustomize "$T/manifests/base" | quick | kubectl apply -f - >/dev/null
tap "another config starts the pods anew" on_nodes "cpu gpu tpu"
another() { [ -z "$(kubectl -n gp-bpf get pods -o jsonpath="{.items[?(@.metadata.uid==\"$before\")].metadata.uid}")" ]; }
tap "none is left of those before" another

while read -r answer verb resource where; do
	tap "service account: $verb $resource in $where: $answer" may "$answer" "$verb" "$resource" "$where"
done <<'TABLE'
yes list pods all
yes watch pods all
no get pods all
no create pods all
no delete pods all
no create pods:exec all
yes get nodes all
yes list nodes all
yes watch nodes all
no patch nodes all
no get nodes:proxy all
no get secrets all
no get secrets gp-bpf
no list configmaps all
no create configmaps gp-bpf
yes get daemonsets.apps/gp-bpf gp-bpf
no get daemonsets.apps/other gp-bpf
no patch daemonsets.apps/gp-bpf gp-bpf
no get daemonsets.apps/gp-bpf default
no list daemonsets.apps gp-bpf
yes get namespaces/gp-bpf gp-bpf
no get namespaces/default default
no create serviceaccounts:token gp-bpf
TABLE
kubectl -n gp-bpf create token gp-bpf >"$T/token"
# What gp-bpf leaves of a job, and then reads, by its own account.
carries() { # namespace job uid kind node attempt
	build/plain/tests/fake/pods_told --carry "$1" "$KUBE_URL" "$T/token" "$KUBE_CA" "${@:2}"
}
denied() { # namespace
	local said
	said=$(carries "$1" llama uid-1 "" node-a 1)
	[[ $said == *"refused (403): its service account needs a Role in namespace $1 with configmaps: get, create, patch"*": nothing" ]] || {
		echo "$said"
		return 1
	}
}
tap "without carry: said what is missing" denied gp-bpf
kubectl apply -f $manifests/components/carry/role.yaml >/dev/null
while read -r answer verb resource where; do
	tap "with carry: $verb $resource in $where: $answer" may "$answer" "$verb" "$resource" "$where"
done <<'TABLE'
yes get configmaps gp-bpf
yes create configmaps gp-bpf
no update configmaps gp-bpf
yes patch configmaps gp-bpf
no list configmaps gp-bpf
no watch configmaps gp-bpf
no delete configmaps gp-bpf
no create configmaps default
no get configmaps kube-system
no get secrets gp-bpf
TABLE

carried() { kubectl -n gp-bpf get configmap -l "gp-bpf/job-uid=$1" "${@:2}"; }
for _ in $(seq 100); do # a role takes a moment
	[[ $(carries gp-bpf first uid-0 "" node-a 1) != attempt* ]] || break
	sleep 0.1
done
tap "with carry: a ConfigMap is made" equal "attempt 1 of node node-a" "$(carries gp-bpf llama uid-1 "" node-a 1)"
tap "with carry: the next node's is there" equal "attempt 2 of node node-b" "$(carries gp-bpf llama uid-1 "" node-b 2)"
tap "with carry: one that knows less gives way" equal "attempt 2 of node node-b" "$(carries gp-bpf llama uid-1 "" node-a 1)"
tap "with carry: label and annotation" equal "gp-bpf $(date -u +%Y-%m-%d)" "$(carried uid-1 -o \
	jsonpath='{.items[0].metadata.labels.app\.kubernetes\.io/managed-by} {.items[0].metadata.annotations.gp-bpf/known-until}' | cut -c1-17)"
tap "with carry: in another namespace nothing" denied default
both_at_once() { # of eight that write at the same time the latest stays
	local i
	for i in 3 4 5 6 7 8 9 10; do carries gp-bpf llama uid-1 "" "node-$i" "$i" >/dev/null & done
	wait
	carries gp-bpf llama uid-1 "" node-10 10 >/dev/null # where the others were always in its way
	equal "attempt 10 of node node-10" "$(carries gp-bpf llama uid-1 "" node-a 1)"
}
tap "with carry: eight nodes at once" both_at_once
carried uid-1 -o json | jq '.items[0] | del(.metadata.labels) | .data.carry = "theirs"' | kubectl replace -f - >/dev/null
tap "with carry: what is not ours is left alone" equal "not ours: nothing" "$(carries gp-bpf llama uid-1 "" node-a 20)"
kubectl -n gp-bpf create job sweep --image=x --dry-run=client -o yaml | kubectl apply -f - >/dev/null
uid=$(kubectl -n gp-bpf get job sweep -o jsonpath='{.metadata.uid}')
tap "with carry: of a Job in the same namespace" equal "attempt 1 of node node-a" "$(carries gp-bpf sweep "$uid" Job node-a 1)"
goes() { # with its Job
	[ -n "$(carried "$uid" -o name)" ]
	kubectl -n gp-bpf delete job sweep >/dev/null
	for _ in $(seq 300); do [ -n "$(carried "$uid" -o name)" ] || return 0; sleep 0.1; done
	return 1
}
tap "with carry: it goes with its Job" goes
TOKEN=$(kubectl -n gp-bpf create token gp-bpf)
pods_of() { as_account get pods -A --field-selector="spec.nodeName=$1" -o name | wc -l; }
tap "its token lists the pods of one node" equal 1 "$(pods_of gpu)"
tap "its token reads no secret" refused "forbidden" as_account -n gp-bpf get secrets
pod=$(kubectl -n gp-bpf get pods -o jsonpath='{.items[0].metadata.name}')
# What gp-bpf is answered when it is told to end and to hand over, by its own account.
successor() { build/plain/tests/fake/pods_told --successor "gp-bpf/$pod" "$KUBE_URL" "$T/token" "$KUBE_CA"; }
tap "an update: another pod comes" equal "it comes" "$(successor)"
none_comes() {
	local said
	said=$(successor)
	[[ $said == *"is deleted" || $said == *"is being deleted" || $said == *"answered with status 40"[13] ]] || {
		echo "$said"
		return 1
	}
}
# Its pod ends, and is still there.
kubectl -n gp-bpf patch pod "$pod" --type=merge -p '{"metadata":{"finalizers":["gp-bpf/test"]}}' >/dev/null
kubectl -n gp-bpf delete daemonset gp-bpf --wait=false >/dev/null
until ! kubectl -n gp-bpf get daemonset gp-bpf >/dev/null 2>&1; do sleep 0.1; done
tap "a removal: none comes" equal "its DaemonSet gp-bpf is deleted" "$(successor)"
kubectl delete namespace gp-bpf --wait=false >/dev/null
tap "a removal with its namespace: none comes" none_comes
tap_end

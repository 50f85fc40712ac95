#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kubernetes.sh FOLDER PODS_TOLD: inside a cluster of tests/tools/kube.sh, what that program says of its node "cpu".
set -eu
T=$1 says=$2
kube=$(dirname "$0")/../tools/kube.sh

until_said() { # condition of jq, of one of the lines so far
	local end=$((SECONDS + 60))
	until jq -es "any(.[]; $1)" "$T/told" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || {
			echo "never said: $1" >&2
			tail -n 20 "$T/told" "$T/told.err" >&2
			exit 1
		}
		sleep 0.05
	done
}
pod() { # name
	printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {nodeName: cpu, containers: [{name: c, image: x}]}\n' "$1" |
		kubectl apply -f - >/dev/null
}

until kubectl get serviceaccount default >/dev/null 2>&1; do sleep 0.1; done
kubectl create serviceaccount agent >/dev/null
kubectl create token agent >"$T/token"
mkfifo "$T/in"
"$says" cpu "$KUBE_URL" "$T/token" "$KUBE_CA" <"$T/in" >"$T/told" 2>"$T/told.err" &
told=$!
exec 7>"$T/in"

# Nothing is allowed to it yet.
until_said '.type == "view" and (.current | not) and (.trouble | test("403.*pods: list, watch"))'
kubectl create clusterrole agent --verb=list,watch --resource=pods,nodes >/dev/null
kubectl create clusterrolebinding agent --clusterrole=agent --serviceaccount=default:agent >/dev/null
until_said '.type == "view" and .current and .trouble == ""'

pod one
until_said '.name == "one" and .phase == "Running" and .ready != null and .containers == 1 and .owner == "Pod"'
kubectl label pod one jobset.sigs.k8s.io/jobset-name=llama jobset.sigs.k8s.io/restart-attempt=2 >/dev/null
until_said '.name == "one" and .owner == "JobSet" and .job == "llama" and .attempt == 2'
kubectl apply -f - >/dev/null <<'Y'
apiVersion: batch/v1
kind: Job
metadata: {name: sweep}
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    spec: {restartPolicy: Never, nodeSelector: {kubernetes.io/hostname: cpu}, containers: [{name: c, image: x}]}
Y
until_said '.owner == "Job" and .job == "sweep" and .rank == 1 and .job_uid != "" and .scheduled != null'

# What is done to a pod, and to the node.
echo '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"one","namespace":"default"}}' |
	kubectl create --raw /api/v1/namespaces/default/pods/one/eviction -f - >/dev/null
until_said '.what == "evicted" and (.text | test("EvictionByEvictionAPI"))'
until_said '.name == "one" and .gone'
kubectl taint node cpu cloud.google.com/impending-node-termination=:NoSchedule >/dev/null
until_said '.what == "maintenance" and (.over | not)'
kubectl taint node cpu cloud.google.com/impending-node-termination- >/dev/null
until_said '.what == "maintenance" and .over'

# The server dies: what happens before we have it again is seen, too. What it knew of changes is gone with it: where
# we go on from is too old, by 410, and there is a new list.
pod two
until_said '.name == "two" and .phase == "Running"'
seen=$(kubectl get pod two -o jsonpath='{.metadata.resourceVersion}')
kubectl create configmap later >/dev/null # the server's own version is another now
kill -KILL "$(cat "$KUBE_DIR/kube-apiserver.pid")"
until_said '.type == "view" and (.trouble | test("127.0.0.1:16443"))'
"$kube" api start 7>&- # which would hold it open
expired="/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dcpu&timeoutSeconds=2&resourceVersion=$seen"
kubectl get --raw "$expired" 2>&1 | grep -qE '"code":410|too old resource version' || {
	echo "version $seen is not too old for the server" >&2
	exit 1
}
kubectl delete pod two --force --grace-period=0 >/dev/null 2>&1
pod three
until_said '.name == "three"'
until_said '.name == "two" and .gone'
until_said '.type == "view" and .current and .trouble == ""'

exec 7>&-
wait "$told"

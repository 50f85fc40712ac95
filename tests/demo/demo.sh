#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make demo: builds gp-bpf, starts a real PyTorch training run, watches it from outside, and compares what
# was seen with the run's own log. Installs what is missing. PYTHON= names the Python whose torch is used.
set -eu
cd "$(dirname "$0")/../.."
: "${MAKE:=make}" "${PYTHON:=}" "${STEPS:=2000}"
gp_bpf=$PWD/build/plain/gp-bpf
here=$PWD/tests/demo

say() { printf 'demo: %s\n' "$*" >&2; }
has_torch() { [ -n "$1" ] && "$1" -c 'import torch' >/dev/null 2>&1; }

# The Python whose torch is used, in $python.
find_torch() {
	for python in "$PYTHON" python3 /usr/bin/python3; do
		has_torch "$python" && return
		[ -z "$PYTHON" ] || {
			say "PYTHON=$PYTHON has no torch"
			exit 2
		}
	done
	say "no torch in python3: installing Debian's python3-torch (about 150 MB to fetch); PYTHON= names another"
	$sudo apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends python3-torch >&2
	python=/usr/bin/python3
	has_torch "$python"
}

sudo=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		say "attaching probes needs root, and there is no sudo here: run make demo as root"
		exit 3
	}
	sudo=sudo
	say "gp-bpf attaches probes, which needs root: it is started through sudo; the training runs as you"
fi

tests/tools/deps.sh build
say "building, about a minute the first time"
"$MAKE" -s all
find_torch
version=$("$python" -c 'import torch; print(torch.__version__)')

# Under sudo the command is its user's, and so must be the folder it writes to.
folder=$(mktemp -d "${TMPDIR:-/tmp}/gp-bpf-demo.XXXXXX")
[ "$(id -u)" -ne 0 ] || [ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID" "$folder"

say "training $STEPS steps with torch $version of $python; its output: $folder/train.log"
case $version in
1.*) say "torch before 2.0 does not name its ranges: steps are told by the backward pass (Tier B)" ;;
esac
start=$SECONDS
status=0
$sudo "$gp_bpf" run --live --output "$folder/train.log" --export "json:$folder/steps.jsonl" -- \
	"$python" "$here/train.py" "$folder/truth.jsonl" "$folder" "$STEPS" || status=$?
if [ "$status" -ne 0 ]; then
	say "it ended with status $status; what the training said:"
	tail -5 "$folder/train.log" >&2 || true
	exit "$status"
fi

echo
"$python" "$here/compare.py" "$folder/truth.jsonl" "$folder/steps.jsonl" || status=$?
rm -f "$folder"/checkpoint-*.pt
echo
echo "That took $((SECONDS - start)) s. The same for a job of yours, as it runs now or from its start:"
echo "  sudo $gp_bpf --pid PID"
echo "  sudo $gp_bpf run -- python train.py"
exit "$status"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch.sh [--find] [--all]: prints the path of a Python that has the package index's current torch.
# $PYTHON if set, else a venv in the user's cache, made and filled on the first call (large; progress on stderr).
#   --find  install nothing; fail if it is not there
#   --all   with lightning, transformers and accelerate
set -eu
find='' all=''
for option; do
	case $option in
	--find) find=1 ;;
	--all) all=1 ;;
	*)
		echo "usage: ${0##*/} [--find] [--all]" >&2
		exit 2
		;;
	esac
done
packages=(torch numpy)
modules=torch
if [ -n "$all" ]; then
	packages+=(lightning transformers accelerate)
	modules=torch,lightning,transformers,accelerate
fi

fail() {
	echo "torch.sh: $*" >&2
	exit 1
}

if [ -n "${PYTHON:-}" ]; then
	python=$(command -v "$PYTHON") || fail "PYTHON=$PYTHON: no such program"
	"$python" -c "import $modules" >&2 || fail "PYTHON=$PYTHON cannot import $modules"
	echo "$python"
	exit
fi

venv=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/torch
stamp=$venv/stamp${all:+-all}
ready() { # what --all installs has the rest in it
	{ [ -e "$stamp" ] || [ -e "$venv/stamp-all" ]; } && [ -x "$venv/bin/python" ]
}
if ready; then
	echo "$venv/bin/python"
	exit
fi
[ -z "$find" ] || fail "no $modules in $venv; '${0##*/}${all:+ --all}' installs it"

# The system's Python first: others may be short-lived. A venv needs ensurepip, on Debian python3-venv.
make_venv() {
	local python
	for python in /usr/bin/python3 python3 python3.1{3,2,1,0} python3.14; do
		"$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
		"$python" -m venv "$venv" >&2 && return
	done
	fail "no Python >= 3.10 that can make a venv (on Debian: python3-venv)"
}

mkdir -p "$venv"
exec 9>"$venv.lock"
flock -n 9 || {
	echo "torch.sh: waiting for another one that installs" >&2
	flock 9
}
if ! ready; then
	echo "torch.sh: installing ${packages[*]} in $venv (once; torch is large)" >&2
	[ -x "$venv/bin/python" ] || make_venv
	"$venv/bin/python" -m pip install --disable-pip-version-check "${packages[@]}" >&2 9>&- ||
		fail "pip could not install ${packages[*]}"
	"$venv/bin/python" -c "import $modules" >&2 || fail "what pip installed cannot be imported"
	touch "$stamp"
fi
echo "$venv/bin/python"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python.sh [--find] GROUP: prints the path of a Python that has the packages of this group of trainers.tsv beside the
# current torch (torch.sh): a venv in the user's cache, made on the first call (progress on stderr).
#   --find  install nothing; fail if it is not there
set -eu
find=''
[ "${1:-}" != --find ] || { find=1; shift; }
group=${1:?usage: python.sh [--find] GROUP}
here=$(dirname "$0")
mapfile -t packages < <(awk -F'\t' -v g="$group" '!/^#/ && $2 == g { n = split($3, p, " "); for (i = 1; i <= n; i++) print p[i] }' "$here/trainers.tsv" | sort -u)
[ ${#packages[@]} -gt 0 ] || { echo "python.sh: trainers.tsv has no group $group" >&2; exit 2; }
venv=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/trainers-$group

ready() { [ "$(cat "$venv/stamp" 2>/dev/null)" = "${packages[*]}" ] && [ -x "$venv/bin/python" ]; }
if ready; then
	echo "$venv/bin/python"
	exit
fi
[ -z "$find" ] || { echo "python.sh: no trainers of group $group in $venv; 'python.sh $group' installs them" >&2; exit 1; }
torch=$(PYTHON='' "$here/../tools/torch.sh") || exit
mkdir -p "${venv%/*}"
exec 9>"$venv.lock"
flock 9
if ! ready; then
	echo "python.sh: installing ${packages[*]} in $venv (once)" >&2
	"$torch" -m venv --clear "$venv" >&2
	# The torch that is there already is used: its folder is searched after the venv's own.
	"$torch" -c 'import site; print(site.getsitepackages()[0])' >"$(echo "$venv"/lib/python*/site-packages)/torch.pth"
	"$venv/bin/python" -m pip install --disable-pip-version-check "${packages[@]}" >&2 9>&- || exit
	echo "${packages[*]}" >"$venv/stamp"
fi
echo "$venv/bin/python"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# library.sh: prints the path of a Python that has ml-goodput-measurement 0.2.3, in a venv in the user's cache that
# is made on the first call. What it would import of Google's clouds is not there: stand_in/ has what is used.
set -eu
version=0.2.3
venv=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/goodput
stamp=$venv/stamp-$version

mkdir -p "$venv"
exec 9>"$venv.lock"
flock 9
if [ ! -e "$stamp" ]; then
	for python in /usr/bin/python3 python3 python3.1{3,2,1,0}; do # Debian's own has no ensurepip without python3-venv
		"$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || continue
		"$python" -m venv "$venv" >&2
		break
	done
	"$venv/bin/pip" install -q --disable-pip-version-check --no-deps "ml-goodput-measurement==$version" >&2
	"$venv/bin/pip" install -q --disable-pip-version-check numpy scipy requests >&2
	touch "$stamp"
fi
echo "$venv/bin/python"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pythons.sh [--find]: prints a line for each CPython from 3.8 on that can be had here: its version, the folder that
# is its root ("/", or another one for chroot) and its path in there. Those of this machine, and some of other Debian
# releases: statically linked, each with its C library, in the user's cache (20 MB each; progress on stderr).
# pythons.sh [--find] py-spy: prints the path of py-spy, in a venv in the user's cache.
#   --find  download nothing; fail, or print less, if it is not there
set -eu
shopt -s nullglob

PY_SPY=0.4.3
RELEASES=(trixie:3.13 forky:3.14) # the release, and the version that it has
dir=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/pythons

find=''
[ "${1:-}" != --find ] || { find=1; shift; }
mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9

py_spy() {
	local venv=$dir/py-spy-$PY_SPY
	if [ ! -x "$venv/bin/py-spy" ]; then
		[ -z "$find" ] || { echo "pythons.sh: no py-spy in $venv; '${0##*/} py-spy' installs it" >&2; return 1; }
		python3 -m venv --clear "$venv" >&2
		"$venv/bin/python" -m pip install --disable-pip-version-check "py-spy==$PY_SPY" >&2 9>&-
	fi
	echo "$venv/bin/py-spy"
}

# One of each version and way of linking; python3.N may stand for a script (pyenv's).
of_this_machine() {
	local program version
	for program in /usr/bin/python3.? /usr/bin/python3.1? /usr/local/bin/python3.? /usr/local/bin/python3.1? \
		"${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3.{?,1?}; do
		version=$("$program" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
		case $version in
		3.[89] | 3.1?) printf '%s\t/\t%s\n' "$version" "$(realpath "$program")" ;;
		esac
	done | sort -u
}

# A private apt, whose only release is this one; the machine's own stays as it is.
release_download() { # release version root
	local mirror apt package
	# shellcheck disable=SC2016 # apt expands
	mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(LABEL)' 'Created-By: Packages' |
		awk '$1 == "Debian" && $3 == "Debian" { print $2; exit }')
	[ -n "$mirror" ] || { echo "no Debian mirror in the apt configuration (apt-get update?)"; return 1; }
	mkdir -p "$3.new"/{state/lists/partial,cache/archives/partial,root/usr/lib,root/usr/lib64,root/tmp}
	: >"$3.new/state/status"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$3.new/sources.list"
	apt=(-qq -o "Dir::Etc::sourcelist=$3.new/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State=$3.new/state"
		-o "Dir::State::status=$3.new/state/status" -o "Dir::Cache=$3.new/cache" -o APT::Sandbox::User=root
		-o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
	apt-get "${apt[@]}" update && apt-get "${apt[@]}" install -y --no-install-recommends --download-only \
		"python$2-minimal" || return
	ln -s usr/lib usr/lib64 "$3.new/root/"
	for package in "$3.new"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x --no-same-owner --keep-directory-symlink -C "$3.new/root" || return
	done
	mv "$3.new/root" "$3"
}

of_releases() {
	local entry root
	[ "$(uname -m)" = x86_64 ] || { echo "pythons.sh: those of other Debian releases are for x86_64" >&2; return; }
	[ "$EUID" -eq 0 ] || { echo "pythons.sh: chroot needs root" >&2; return; }
	for entry in "${RELEASES[@]}"; do
		root=$dir/${entry%:*}
		if [ ! -d "$root" ] && [ -z "$find" ]; then
			echo "pythons.sh: downloading Python ${entry#*:} of ${entry%:*} (once; 20 MB)" >&2
			rm -rf "$root.new"
			release_download "${entry%:*}" "${entry#*:}" "$root" >&2 9>&- || echo "pythons.sh: cannot have it" >&2
			rm -rf "$root.new"
		fi
		[ ! -d "$root" ] || printf '%s\t%s\t%s\n' "${entry#*:}" "$root" "/usr/bin/python${entry#*:}"
	done
}

case ${1:-} in
py-spy) py_spy ;;
'')
	of_this_machine
	of_releases
	;;
*)
	echo "usage: ${0##*/} [--find] [py-spy]" >&2
	exit 2
	;;
esac

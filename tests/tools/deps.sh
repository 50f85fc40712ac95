#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# deps.sh build|check|all: installs the Debian packages of that group in packages.txt that are missing, in one go.
# A person is asked first. Says nothing when all is there.
set -eu
what=${1:-all}
list=$(dirname "$0")/../../packages.txt

case $what in
build) groups='build' ;;
check) groups='build check' ;;
all) groups='build check all' ;;
*)
	echo "usage: ${0##*/} build|check|all" >&2
	exit 2
	;;
esac

wanted() {
	local group package
	while read -r group package; do
		[[ " $groups " == *" $group "* ]] && echo "$package"
	done <"$list"
	return 0
}

mapfile -t packages < <(wanted)
if ! command -v dpkg-query >/dev/null; then
	# No way to ask, so no way to install either: the build itself says what it misses.
	echo "deps: this is no Debian; needed are the equivalents of: ${packages[*]}" >&2
	exit 0
fi
installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${packages[@]}" 2>/dev/null |
	sed -n 's/^.i. *//p') || true
missing=()
for package in "${packages[@]}"; do
	grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

become=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps: not root and no sudo; as root: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	become=(sudo)
fi
echo "deps: missing: ${missing[*]}" >&2
if [ -t 0 ] && [ -z "${CI:-}" ]; then
	read -r -p "Install them with apt-get? [Y/n] " answer
	case $answer in
	'' | [Yy]*) ;;
	*)
		echo "deps: nothing installed" >&2
		exit 1
		;;
	esac
fi
apt=("${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get)
# The lists may be too old for the package index, or not there at all in a fresh container.
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" || {
	"${apt[@]}" update
	"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

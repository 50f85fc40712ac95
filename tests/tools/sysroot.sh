#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh [--find]: prints the folder of a root of arm64 packages: the libraries and headers of packages.txt with all that they depend
# on, of this machine's Debian release and mirrors (30 MB, once; the user's cache). The machine's own apt and dpkg stay as they are, apt
# holds every package against its signed lists, and nothing of the packages is run.
#   --find  download nothing; fail if it is not there
set -eu

fail() {
	echo "sysroot.sh: $*" >&2
	exit 1
}

find=''
[ "${1:-}" != --find ] || { find=1; shift; }
[ $# -eq 0 ] || { echo "usage: ${0##*/} [--find]" >&2; exit 2; }

mapfile -t packages < <(sed -nE 's/^build (lib.*-dev|zlib1g-dev)$/\1/p; s/^check (libcmocka-dev)$/\1/p' "$(dirname "$0")/../../packages.txt")
dir=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/arm64
stamp="1 ${packages[*]}"
ready() { [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; }
if ready; then
	echo "$dir/root"
	exit
fi
[ -z "$find" ] || fail "no arm64 packages in $dir; '${0##*/}' downloads them"

# A private apt of another architecture.
apt_setup() { # folder; sets APT
	local targets
	# shellcheck disable=SC2016 # apt expands
	targets=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE)' 'Created-By: Packages')
	mkdir -p "$1"/{state/lists/partial,cache/archives/partial}
	: >"$1/state/status"
	awk '$1 == "Debian" { print "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]", $2, $3, "main" }' <<<"$targets" |
		sort -u >"$1/sources.list"
	[ -s "$1/sources.list" ] || fail "no Debian mirror in the apt configuration (apt-get update?)"
	APT=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::Etc::sourcelist=$1/sources.list" -o Dir::Etc::sourceparts=-
		-o "Dir::State=$1/state" -o "Dir::State::status=$1/state/status" -o "Dir::Cache=$1/cache" -o APT::Sandbox::User=root
		-o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
}

# A link to /lib/... is one to this machine's.
links_inside() { # root
	local link to
	find "$1" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link to; do
		ln -snfr "$1$to" "$link"
	done
}

make_root() { # scratch folder: its root
	local package name
	apt_setup "$1"
	apt-get "${APT[@]}" update
	apt-get "${APT[@]}" install -y --no-install-recommends --download-only "${packages[@]}"
	mkdir -p "$1"/root/usr/lib # as Debian has it: one /usr
	ln -s usr/lib "$1/root/lib"
	for package in "$1"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x --no-same-owner --keep-directory-symlink -C "$1/root"
		name=${package##*/}
		echo "${name%.deb}" >>"$1/root/packages"
	done
	links_inside "$1/root"
}

command -v apt-get >/dev/null || fail "no apt-get: arm64 packages are those of Debian"
mkdir -p "$dir"
exec 9>"$dir.lock"
flock -n 9 || {
	echo "sysroot.sh: waiting for another one that downloads" >&2
	flock 9
}
if ! ready; then
	echo "sysroot.sh: downloading ${packages[*]} for arm64 to $dir (once; 30 MB)" >&2
	scratch=$(mktemp -d "$dir/new.XXXXXX")
	trap 'rm -rf "$scratch"' EXIT
	make_root "$scratch" >&2 9>&-
	rm -rf "${dir:?}/root" "$dir/stamp"
	mv "$scratch/root" "$dir/root"
	echo "$stamp" >"$dir/stamp"
fi
echo "$dir/root"

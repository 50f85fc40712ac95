#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libraries.sh [--find]: brings the real libraries of tests/symbols/libraries.tsv into the user's cache, once, and
# prints for each file: package, version, path. A library that cannot be had is told so: package, version, "-", why.
#   --find  download nothing
# Only the wanted members of a wheel are kept, and nothing is installed. About 8 GB; progress is on stderr.
set -u
list=$(dirname "$0")/../symbols/libraries.tsv
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/libs
find=''
[ "${1:-}" != --find ] || find=1
mkdir -p "$cache" || exit 1
exec 9>"$cache.lock"
flock 9
work=$(mktemp -d "$cache/.work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

say() { printf '%s\t%s\t%s\t%s\n' "$@"; }

# pip of its own, so that the system's need not be there. Wheels of a Python that all packages know.
pip() { "$cache/pip/bin/python" -m pip --disable-pip-version-check "$@"; }
pip_make() {
	local python
	[ ! -x "$cache/pip/bin/pip" ] || return 0
	for python in /usr/bin/python3 python3 python3.1{3,2,1,0}; do
		"$python" -c 'import ensurepip' 2>/dev/null && "$python" -m venv "$cache/pip" >&2 && return
	done
	return 1
}

platforms() {
	local n
	for n in {1..40}; do
		printf -- '--platform\nmanylinux_2_%d_%s\n' "$n" "$(uname -m)"
	done
	printf -- '--platform\nmanylinux2014_%s\n' "$(uname -m)"
}

# The members of an archive's listing that one of the patterns matches.
members_of() { # archive patterns
	local name pattern
	"$cache/pip/bin/python" -m zipfile -l "$1" | awk 'NR > 1 { print $1 }' | while read -r name; do
		for pattern in $2; do
			# shellcheck disable=SC2053 # a pattern
			[[ /$name == $pattern ]] && echo "$name"
		done
	done
}

pypi() { # package version members folder
	local wheel got options
	pip_make || { echo "no Python that can make a venv"; return 1; }
	mapfile -t options < <(platforms)
	pip -q --retries 1 --timeout 30 download --no-cache-dir --no-deps --only-binary=:all: --implementation cp --python-version 3.11 \
		"${options[@]}" -d "$work" "$1==$2" >&2 || { echo "pip could not download it"; return 1; }
	wheel=$(find "$work" -name '*.whl' | head -1)
	mapfile -t got < <(members_of "$wheel" "$3")
	[ ${#got[@]} -gt 0 ] || { echo "its wheel has no $3"; return 1; }
	mkdir -p "$work/lib"
	if ! "$cache/pip/bin/python" - "$wheel" "$work/lib" "${got[@]}" <<-'PY'
		import os, shutil, sys, zipfile
		with zipfile.ZipFile(sys.argv[1]) as wheel:
		    for name in sys.argv[3:]:
		        with wheel.open(name) as source, open(os.path.join(sys.argv[2], os.path.basename(name)), "wb") as out:
		            shutil.copyfileobj(source, out, 1 << 20)
	PY
	then
		echo "its wheel cannot be read"
		return 1
	fi
	rm -f "$wheel"
	mv -T "$work/lib" "$4"
}

debian() { # package version members folder
	local deb pattern file
	command -v apt-get >/dev/null || { echo "this is no Debian"; return 1; }
	(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$1" >&2) || { echo "apt has no such package"; return 1; }
	deb=$(find "$work" -maxdepth 1 -name '*.deb' | head -1)
	mkdir -p "$work/tree" "$work/lib"
	dpkg-deb -x "$deb" "$work/tree" || { echo "its package cannot be read"; return 1; }
	for pattern in $3; do
		find "$work/tree" -type f -path "$pattern" -exec mv -t "$work/lib" {} +
	done
	rm -rf "$work/tree" "$deb"
	for file in "$work/lib"/*; do
		[ -e "$file" ] || { echo "its package has no $3"; return 1; }
	done
	mv -T "$work/lib" "$4"
}

debian_version() { apt-cache show --no-all-versions "$1" 2>/dev/null | sed -n 's/^Version: *//p' | head -1; }

told() { # package version folder
	local file
	for file in "$3"/*; do
		[ ! -f "$file" ] || say "$1" "$2" "$file" ''
	done
}

# What the tests' torch brings along.
torch() { # package members
	local python root pattern got version
	python=$("$(dirname "$0")/torch.sh" --find 2>/dev/null || "$(dirname "$0")/torch.sh" --find --all 2>/dev/null) || {
		say "$1" - - "no torch of the package index (tests/tools/torch.sh)"
		return
	}
	root=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	version=$("$python" - "$1" <<-'PY'
		import importlib.metadata, re, sys
		print(next((d.version.split("+")[0] for d in importlib.metadata.distributions()
		            if re.fullmatch(sys.argv[1] + r"(-cu\d+)?", d.metadata["Name"])), "-"))
	PY
	)
	for pattern in $2; do
		got=$(find "$root" -type f -path "$pattern" | head -1)
		[ -z "$got" ] || say "$1" "$version" "$got" ''
	done
}

while IFS=$'\t' read -r source package version members; do
	[[ $source != \#* ]] || continue
	if [ "$source" = torch ]; then
		torch "$package" "$members"
		continue
	fi
	[ "$source" != debian ] || version=$(debian_version "$package")
	folder=$cache/$package-${version:--}
	if [ ! -d "$folder" ]; then
		why='not in the cache'
		if [ -z "$find" ]; then
			echo "libraries.sh: $package $version" >&2
			why=$("$source" "$package" "$version" "$members" "$folder")
			find "$work" -mindepth 1 -delete
		fi
	fi
	if [ -d "$folder" ]; then
		told "$package" "$version" "$folder"
	else
		say "$package" "${version:--}" - "$why"
	fi
done <"$list"

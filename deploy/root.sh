#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# root.sh DIR: fills the empty or new folder DIR with the root of the image: gp-bpf, the shared libraries that its loader names and
# no others, the probe files, and the certificates by which TLS servers are known. No shell, no interpreter, no package manager.
# GP_BPF: the program (default: build/plain/gp-bpf of this tree).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=${GP_BPF:-$here/../build/plain/gp-bpf}
certificates=${CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}

fail() {
	echo "root.sh: $*" >&2
	exit 1
}

[ $# -eq 1 ] || fail "usage: root.sh DIR"
[ -x "$program" ] || fail "no $program; make builds it"
[ -s "$certificates" ] || fail "no $certificates (on Debian: ca-certificates)"
root=$1
mkdir -p "$root"
[ -z "$(ls -A "$root")" ] || fail "$root is not empty"

# Where the loader finds each, at the place it looks for it: "libz.so.1 => /lib/.../libz.so.1 (0x...)" or "/lib64/ld... (0x...)".
libraries() {
	ldd "$program" | awk '
		/not found/ { print "root.sh: " $1 " is missing" > "/dev/stderr"; exit 1 }
		$2 == "=>" { print $3; next }
		$1 ~ /^\// { print $1 }'
}

mkdir -p "$root"/{usr/bin,usr/share/gp-bpf/probes,usr/share/doc/gp-bpf,etc/ssl/certs,dev,proc,sys,run}
install -m 1777 -d "$root/tmp"
install -m 755 "$program" "$root/usr/bin/gp-bpf"
strip --strip-unneeded "$root/usr/bin/gp-bpf"
install -m 644 "$here"/../probes/*.yaml "$root/usr/share/gp-bpf/probes"
install -m 644 "$here/../LICENSE" "$root/usr/share/doc/gp-bpf"
install -m 644 "$certificates" "$root/etc/ssl/certs/ca-certificates.crt"
echo 'root:x:0:0:root:/:/none
nobody:x:65534:65534:nobody:/:/none' >"$root/etc/passwd" # hooks are of nobody
echo 'root:x:0:
nogroup:x:65534:' >"$root/etc/group"
found=$(libraries)
for library in $found; do
	mkdir -p "$root$(dirname "$library")"
	install -m 755 "$library" "$root$library" # the file, not the link to it
done
"$here/sbom.sh" "$root" >"$root/usr/share/doc/gp-bpf/sbom.spdx.json"

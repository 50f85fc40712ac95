#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The image, from this machine's packages: what its root holds and what not, that gp-bpf runs in it as in a container, that its list
# of parts (SBOM) tells every file, and that its archive is whole. TAP; as root.
set -eu
cd "$(dirname "$0")/../.."
. tests/deploy/tap.bash
export GP_BPF=${GP_BPF:-$PWD/build/plain/gp-bpf}
[ -x "$GP_BPF" ] || make -s all
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

made() { SOURCE_DATE_EPOCH=1700000000 deploy/image.sh --local "$T/$1.tar" gp-bpf:test; }
tap "the archive is made" made image
mkdir "$T/oci" "$T/root"
tar -C "$T/oci" -xf "$T/image.tar"
index=$T/oci/index.json blobs=$T/oci/blobs/sha256
manifest=$blobs/$(jq -r '.manifests[0].digest[7:]' "$index")
config=$blobs/$(jq -r '.config.digest[7:]' "$manifest")
layer=$blobs/$(jq -r '.layers[0].digest[7:]' "$manifest")
tar -C "$T/root" -xzf "$layer"

digests_hold() { (cd "$blobs" && for sum in *; do echo "$sum  $sum"; done | sha256sum -c --quiet); }
sizes_hold() {
	local digest size
	jq -r '.. | objects | select(.digest) | "\(.digest[7:]) \(.size)"' "$index" "$manifest" | while read -r digest size; do
		equal "$size" "$(stat -c %s "$blobs/$digest")"
	done
}
tap "every blob is what its digest says" digests_hold
tap "every blob is as long as its descriptor says" sizes_hold
tap "the layer is what the config says" equal "sha256:$(gzip -dc "$layer" | sha256sum | cut -d' ' -f1)" "$(jq -r '.rootfs.diff_ids[0]' "$config")"
tap "it starts gp-bpf" equal '["/usr/bin/gp-bpf"]' "$(jq -c .config.Entrypoint "$config")"

only() { # regular files that may be run: the program and the libraries
	equal "" "$(cd "$T/root" && find . -type f -perm /111 ! -path ./usr/bin/gp-bpf ! -regex './\(usr/\)?lib\(64\)?/.*\.so[.0-9]*')"
}
tap "nothing can be run but gp-bpf: no shell, no interpreter" only
tap "nothing is set-user-ID, and nothing but /tmp may be written by all" equal ./tmp \
	"$(cd "$T/root" && find . -perm /6000 -o -perm -2 ! -type l)"
needed() { # what the programs and libraries name as needed is there, and nothing else
	local file
	find "$T/root" -name '*.so*' -type f -printf '%f\n' | sort >"$T/there"
	find "$T/root" -type f \( -name '*.so*' -o -name gp-bpf \) | while read -r file; do
		readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
	done | sort -u >"$T/named"
	find "$T/root" -name 'ld-linux*' -printf '%f\n' >>"$T/named" # the program's interpreter
	diff <(sort -u "$T/named") "$T/there"
}
tap "the shared libraries are those that are needed, and no others" needed
tap "every probe file is there" diff -r probes "$T/root/usr/share/gp-bpf/probes" -x README.md

# As a container has it: a root of its own, read-only, with /proc, /sys and nothing else.
# shellcheck disable=SC2016 # the inner shell expands
contained() { # arguments of gp-bpf
	unshare --mount sh -ec 'root=$1
		shift
		mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount --rbind /sys "$root/sys"
		mount -o remount,bind,ro "$root"
		exec chroot "$root" /usr/bin/gp-bpf "$@"' sh "$T/root" "$@"
}
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
tap "it runs: --version" equal "gp-bpf $version" "$(contained --version 2>&1)"
probes_there() { equal "$("$GP_BPF" probes | wc -l)" "$(contained probes | wc -l)"; }
tap "it finds its probe files" probes_there
check_same() { # no feature of the kernel is lost by the root
	"$GP_BPF" check --json >"$T/outside.json" || true
	contained check --json >"$T/inside.json" || true
	diff <(jq -S '[.features[]? | {name, have, off}]' "$T/outside.json") <(jq -S '[.features[]? | {name, have, off}]' "$T/inside.json")
	jq -e '.features | length > 0' "$T/inside.json"
}
tap "it runs: check finds what it finds outside" check_same
hash() { contained run -- /bin/sh -c true; }
tap "there is no shell to run" refused "" hash

sbom=$T/root/usr/share/doc/gp-bpf/sbom.spdx.json
shape() {
	jq -e '.spdxVersion == "SPDX-2.3" and .dataLicense == "CC0-1.0" and .SPDXID == "SPDXRef-DOCUMENT"
		and (.creationInfo.created | test("^[0-9-]{10}T[0-9:]{8}Z$")) and (.documentNamespace | test("^https://"))
		and ([.packages[], .files[]] | all(.SPDXID | test("^SPDXRef-[A-Za-z0-9.-]+$")))
		and ([.SPDXID, .packages[].SPDXID, .files[].SPDXID] | length == (unique | length))
		and (.packages | all(has("name") and has("downloadLocation") and has("versionInfo")))
		and ([.packages[].SPDXID, .files[].SPDXID, .SPDXID] as $known
			| .relationships | all([.spdxElementId, .relatedSpdxElement] - $known == []))' "$sbom"
}
sbom_whole() { # each file, with the sum that it has, once in a package
	(cd "$T/root" && find . -type f ! -name sbom.spdx.json -exec sha256sum {} +) | LC_ALL=C sort -k2 >"$T/sums"
	jq -r '.files[] | "\(.checksums[] | select(.algorithm == "SHA256").checksumValue)  \(.fileName)"' "$sbom" | LC_ALL=C sort -k2 | diff "$T/sums" -
	jq -e '[.relationships[] | select(.relationshipType == "CONTAINS").relatedSpdxElement] | sort == unique' "$sbom" >/dev/null
	equal "$(wc -l <"$T/sums")" "$(jq '[.relationships[] | select(.relationshipType == "CONTAINS")] | length' "$sbom")"
}
versions() { # of a library, as dpkg has it
	equal "$(dpkg-query -W -f '${Version}' libc6)" "$(jq -r '.packages[] | select(.name == "libc6").versionInfo' "$sbom")"
}
tap "SBOM: it has the shape of SPDX 2.3" shape
tap "SBOM: every file, by its sum, in one package" sbom_whole
tap "SBOM: versions are those of the packages" versions
tap "SBOM: the same root gives the same bytes" diff "$sbom" <(SOURCE_DATE_EPOCH=1700000000 deploy/sbom.sh "$T/root")

file_of() { sed -n "s/^COPY \(--from=[a-z]* \)\{0,1\}//p" deploy/Dockerfile; }
copied_exist() { # what the Dockerfile copies from the tree is there, and it installs what the build needs
	local line word words
	file_of | grep -v '^/' | while read -r line; do
		read -r -a words <<<"$line"
		for word in "${words[@]:0:${#words[@]}-1}"; do [ -e "$word" ] || { echo "no $word"; return 1; }; done
	done
	grep -qF "sed -n 's/^build //p' packages.txt" deploy/Dockerfile
}
tap "Dockerfile: what it copies is in the tree" copied_exist
tap_end

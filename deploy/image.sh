#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# image.sh [--local FILE] [NAME:TAG]: the image, as NAME:TAG (default: gp-bpf:VERSION).
#   without --local  by deploy/Dockerfile, with buildah, podman or docker, whichever is there: needs a registry for the base
#   --local FILE     of the gp-bpf and the packages of this machine, which is of the image's kind (Debian 12), as an OCI archive:
#                    needs no tool, no registry and no root; podman load -i FILE, ctr images import FILE, skopeo copy oci-archive:FILE ...
# The same input gives the same bytes: files bear the time SOURCE_DATE_EPOCH (default: of the last commit).
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
archive=''
fail() {
	echo "image.sh: $*" >&2
	exit 1
}
while [ $# -gt 0 ]; do
	case $1 in
	--local) archive=${2:?--local wants a file} && shift ;;
	-*) fail "usage: image.sh [--local FILE] [NAME:TAG]" ;;
	*) break ;;
	esac
	shift
done
name=${1:-gp-bpf:$version}
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH=$epoch

by_dockerfile() {
	local tool
	for tool in buildah podman docker; do
		command -v "$tool" >/dev/null || continue
		[ "$tool" != docker ] || docker info >/dev/null 2>&1 || continue
		"$tool" build --build-arg "SOURCE_DATE_EPOCH=$epoch" -f deploy/Dockerfile -t "$name" .
		return
	done
	fail "neither buildah nor podman nor a docker that runs; without one: make image LOCAL=FILE"
}

# Puts a file among the blobs; prints its descriptor but for the braces.
blob() { # file media-type
	local sum
	sum=$(sha256sum "$1" | cut -d' ' -f1)
	mv "$1" "$T/oci/blobs/sha256/$sum"
	printf '"mediaType":"application/vnd.oci.image.%s","digest":"sha256:%s","size":%d' "$2" "$sum" "$(stat -c %s "$T/oci/blobs/sha256/$sum")"
}
pack() { # folder file
	tar -C "$1" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=gnu -cf "$2" .
}

by_hand() {
	local made layer whole config manifest machine
	machine=$(dpkg --print-architecture)
	T=$(mktemp -d)
	trap 'rm -rf "$T"' EXIT
	mkdir -p "$T/oci/blobs/sha256"
	deploy/root.sh "$T/root"
	pack "$T/root" "$T/layer"
	whole=$(sha256sum "$T/layer" | cut -d' ' -f1)
	gzip -9n "$T/layer"
	layer=$(blob "$T/layer.gz" layer.v1.tar+gzip)
	made=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
	printf '{"created":"%s","architecture":"%s","os":"linux","config":{"Entrypoint":["/usr/bin/gp-bpf"],"Labels":{%s}},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
		"$made" "$machine" "\"org.opencontainers.image.title\":\"gp-bpf\",\"org.opencontainers.image.version\":\"$version\"" "$whole" >"$T/config"
	config=$(blob "$T/config" config.v1+json)
	printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{%s},"layers":[{%s}]}' "$config" "$layer" >"$T/manifest"
	manifest=$(blob "$T/manifest" manifest.v1+json)
	printf '{"schemaVersion":2,"manifests":[{%s,"annotations":{"org.opencontainers.image.ref.name":"%s"}}]}' "$manifest" "$name" >"$T/oci/index.json"
	printf '{"imageLayoutVersion":"1.0.0"}' >"$T/oci/oci-layout"
	pack "$T/oci" "$T/archive"
	mv "$T/archive" "$archive"
}

if [ -n "$archive" ]; then by_hand; else by_dockerfile; fi

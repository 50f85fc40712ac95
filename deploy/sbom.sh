#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sbom.sh ROOT: what is in the root of an image that root.sh made, as SPDX 2.3 in JSON on standard output: gp-bpf, each of its files,
# and the Debian packages (version, source, maker) that the libraries and the certificates come from. Needs dpkg and jq.
# SOURCE_DATE_EPOCH: the time it bears (default: of the last commit, else now).
set -eu
if [ $# -ne 1 ] || [ ! -d "$1" ]; then
	echo "usage: sbom.sh ROOT" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$1
version=$(sed -n 's/^VERSION *:= *//p' "$here/../Makefile")
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || date +%s)}

mapfile -t paths < <(cd "$root" && find . -type f ! -name sbom.spdx.json | LC_ALL=C sort)

# "/path package" of the files of this system that are in the root as they are; the merged /usr has two names for each.
owners() {
	local path names=()
	for path in "${paths[@]#.}"; do
		case $path in
		/lib*) names+=("$path" "/usr$path") ;;
		/usr/lib*) names+=("$path" "${path#/usr}") ;;
		/etc/ssl/*) echo "$path ca-certificates" ;; # made when that is installed
		esac
	done
	{ dpkg-query -S "${names[@]}" 2>/dev/null || true; } | sed -n 's,^\([^,: ]*\)[^ ]*: \(/usr\)\{0\,1\}\(.*\),\3 \1\n/usr\3 \1,p'
}

# One object a file, with the package it comes from or null.
files() {
	{
		owners | sed 's/^/owner /'
		(cd "$root" && sha1sum "${paths[@]}" | sed 's/^/sha1 /' && sha256sum "${paths[@]}" | sed 's/^/sha256 /')
	} | jq -Rn '
		[inputs | split(" +"; null)]
		| (map(select(.[0] == "owner") | { key: .[1], value: .[2] }) | from_entries) as $owner
		| (map(select(.[0] == "sha1") | { key: .[2], value: .[1] }) | from_entries) as $sha1
		| .[] | select(.[0] == "sha256")
		| { name: .[2], owner: ($owner[.[2][1:]] // ""), sha1: $sha1[.[2]], sha256: .[1] }
		| if .owner == "" and (.name | test("^./(usr/)?lib")) then error("of no package: \(.name)") else . end'
}

packages() { # names...
	dpkg-query -W -f '${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${Maintainer}\t${Homepage}\n' "$@" |
		jq -R 'split("\t") | {name: .[0], version: .[1], arch: .[2], source: .[3], source_version: .[4], maker: .[5], home: .[6]}'
}

listed=$(files)
mapfile -t known < <(jq -r 'select(.owner != "").owner' <<<"$listed" | LC_ALL=C sort -u)
jq -n --arg version "$version" --arg whole "$(sha256sum <<<"$listed" | cut -c1-32)" --arg made "$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)" \
	--slurpfile files <(echo "$listed") --slurpfile packages <(packages "${known[@]}") '
	def id: gsub("[^A-Za-z0-9.-]"; "-");
	def file_id: "SPDXRef-File-" + (.name | ltrimstr("./") | id);
	def package_id: "SPDXRef-Package-" + (.name | id);
	{
		spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", name: "gp-bpf-\($version)",
		documentNamespace: "https://spdx.org/spdxdocs/gp-bpf-\($version)-\($whole)",
		creationInfo: { created: $made, creators: ["Tool: gp-bpf-sbom.sh"] },
		packages: ([{
			name: "gp-bpf", SPDXID: "SPDXRef-Package-gp-bpf", versionInfo: $version, downloadLocation: "NOASSERTION",
			filesAnalyzed: false, licenseConcluded: "Apache-2.0", licenseDeclared: "Apache-2.0", copyrightText: "NOASSERTION",
			primaryPackagePurpose: "APPLICATION"
		}] + ($packages | map({
			name, SPDXID: package_id, versionInfo: .version, supplier: "Organization: Debian (\(.maker))",
			sourceInfo: "built from \(.source) \(.source_version)", downloadLocation: "NOASSERTION", filesAnalyzed: false,
			licenseConcluded: "NOASSERTION", licenseDeclared: "NOASSERTION", copyrightText: "NOASSERTION",
			primaryPackagePurpose: "LIBRARY",
			externalRefs: [{
				referenceCategory: "PACKAGE-MANAGER", referenceType: "purl",
				referenceLocator: "pkg:deb/debian/\(.name)@\(.version | @uri)?arch=\(.arch)"
			}]
		} + (if .home == "" then {} else { homepage: .home } end)))),
		files: ($files | map({
			fileName: .name, SPDXID: file_id, licenseConcluded: "NOASSERTION", copyrightText: "NOASSERTION",
			checksums: [{ algorithm: "SHA1", checksumValue: .sha1 }, { algorithm: "SHA256", checksumValue: .sha256 }]
		})),
		relationships: ([{ spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: "SPDXRef-Package-gp-bpf" }]
			+ ($packages | map({ spdxElementId: "SPDXRef-Package-gp-bpf", relationshipType: "DEPENDS_ON", relatedSpdxElement: package_id }))
			+ ($files | map({
				spdxElementId: ("SPDXRef-Package-" + (if .owner == "" then "gp-bpf" else (.owner | id) end)),
				relationshipType: "CONTAINS", relatedSpdxElement: file_id
			})))
	}'

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# deb.sh: builds build/deb/gp-bpf_VERSION-1_ARCH.deb from the files of the tree, by debhelper. What it needs to build is in packages.txt.
# DEBFULLNAME, DEBEMAIL: who it is from.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
maker="${DEBFULLNAME:-gp-bpf} <${DEBEMAIL:-gp-bpf@example.org}>"
command -v dh >/dev/null || {
	echo "deb.sh: no debhelper; apt-get install debhelper" >&2
	exit 1
}
top=$PWD/build/deb
tree=$top/gp-bpf-$version
rm -rf "$tree"
mkdir -p "$tree"
git ls-files -co --exclude-standard -z Makefile install.mk packages.txt LICENSE README.md CHANGELOG.md docs man bpf loader userspace probes deploy |
	xargs -0 cp --parents -t "$tree"
cp -r deploy/debian "$tree/debian"
cp deploy/gp-bpf.service "$tree/debian/gp-bpf.service"
needs=$(sed -n 's/^build //p' packages.txt | paste -sd, | sed 's/,/, /g')
sed "s/@MAINTAINER@/$maker/; s/@BUILD_DEPENDS@/$needs/" deploy/debian/control.in >"$tree/debian/control"
rm "$tree/debian/control.in"
cat >"$tree/debian/changelog" <<CHANGES
gp-bpf ($version-1) unstable; urgency=medium

  * The changes of gp-bpf are in /usr/share/doc/gp-bpf/changelog.gz.

 -- $maker  $(date -R -u -d "@$(git log -1 --format=%ct)")
CHANGES
cd "$tree"
DEB_JOBS=$(nproc) dpkg-buildpackage -b -us -uc >"$top/build.log" 2>&1 || {
	tail -30 "$top/build.log" >&2
	exit 1
}
ls "$top"/gp-bpf_"$version"-1_*.deb

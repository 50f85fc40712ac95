#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package: it builds, lintian has nothing to say, it holds what it should, and its scripts start nothing by themselves. TAP.
set -eu
cd "$(dirname "$0")/../.."
. tests/deploy/tap.bash
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
for tool in dh lintian; do
	command -v $tool >/dev/null || { tap_skip "the package" "no $tool: tests/tools/deps.sh all"; tap_end; exit; }
done

built() { deploy/deb.sh; }
tap "it builds" built
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
machine=$(dpkg --print-architecture)
package=build/deb/gp-bpf_${version}-1_$machine.deb
tap "lintian is content, with its small remarks too" \
	lintian --allow-root --display-info --fail-on error,warning,info "build/deb/gp-bpf_${version}-1_$machine.changes"
dpkg-deb -x "$package" "$T/root"
dpkg-deb -e "$package" "$T/control"

it_runs() { equal "gp-bpf $version" "$("$T/root/usr/bin/gp-bpf" --version)"; }
tap "its program runs" it_runs
probes_found() { diff -r -x README.md probes "$T/root/usr/share/gp-bpf/probes" && "$T/root/usr/bin/gp-bpf" probes >/dev/null; }
tap "its probe files are found" probes_found
pages_are() {
	local page
	for page in docs/*.md; do
		ls "$T/root/usr/share/doc/gp-bpf/$page"* || return
	done
}
tap "the pages that its README links are there" pages_are
manuals_are() {
	local page
	for page in man/*; do
		[ -s "$T/root/usr/share/man/man${page##*.}/${page#man/}.gz" ] || return
	done
}
tap "the manual pages are there" manuals_are
completions_are() {
	"$T/root/usr/bin/gp-bpf" completion bash | cmp - "$T/root/usr/share/bash-completion/completions/gp-bpf" &&
		"$T/root/usr/bin/gp-bpf" completion zsh | cmp - "$T/root/usr/share/zsh/vendor-completions/_gp-bpf" &&
		"$T/root/usr/bin/gp-bpf" completion fish | cmp - "$T/root/usr/share/fish/vendor_completions.d/gp-bpf.fish"
}
tap "completions are where the shells look for them" completions_are
tap "settings are the administrator's: upgrades keep them" equal "/etc/default/gp-bpf /etc/gp-bpf/config.yaml" "$(sort "$T/control/conffiles" | xargs)"
tap "the unit names what is there" test -x "$T/root$(sed -n 's/^ExecStopPost=//p' "$T/root/lib/systemd/system/gp-bpf.service")" \
	-a -x "$T/root$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$T/root/lib/systemd/system/gp-bpf.service")"
config_read() { "$T/root/usr/bin/gp-bpf" probes --config "$T/root/etc/gp-bpf/config.yaml" >/dev/null; }
tap "the config that it brings is read" config_read

# Its scripts, with a systemd that writes down what it is asked.
scripts() { # script arguments...
	mkdir -p "$T/bin" "$T/dpkg"
	local tool
	for tool in deb-systemd-helper deb-systemd-invoke systemctl; do
		printf '#!/bin/sh\necho "%s $*" >>%s/asked\n[ "$*" != "--quiet was-enabled gp-bpf.service" ]\n' "$tool" "$T" >"$T/bin/$tool"
		chmod +x "$T/bin/$tool"
	done
	rm -f "$T/asked"
	PATH=$T/bin:$PATH sh "$T/control/$1" "${@:2}"
}
not_enabled() { scripts postinst configure "" && ! grep -w enable "$T/asked"; }
tap "its installation enables nothing (and what is not enabled is not started)" not_enabled
tap_end

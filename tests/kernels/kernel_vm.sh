#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernel_vm.sh: runs a command as root under another Linux kernel, on this machine's own root file system.
#
#   kernel_vm.sh get DIR SERIES...     unpacks Debian's newest kernel of each series (6.1; 7: of all 7.x) that is
#                                      not in DIR yet
#   kernel_vm.sh run DIR SERIES [--timeout S] [--out PATH] -- CMD...
#
# QEMU emulates the machine, so no KVM is needed. The guest sees this root file system read-only over 9p, with an
# empty tmpfs on /tmp, /run, /var/tmp and /dev/shm; the current directory is there in any case, and PATH is shared
# read-write. Mounted: tracefs, debugfs, securityfs, bpffs, cgroup2. Network: lo. CMD starts in the current directory;
# its stdout and stderr arrive together on stdout; kernel messages go to PATH/kernel.log. Exit status: CMD's; 124 after
# S seconds (600 unless told); 125 when CMD never ended or the guest could not be started.
# Needs Debian on x86-64 with qemu-system-x86, busybox-static and xz-utils, and about 20 MB per kernel.
# KERNEL_VM_MEM (MiB, 1024), KERNEL_VM_CPUS (2) and KERNEL_VM_ACCEL (tcg,thread=single) change the guest;
# KERNEL_VM_APPEND is added to the kernel's command line. The guest's CPUs take turns on one of ours: with thread=multi
# one may still run what another has just patched, and the kernel dies of a breakpoint of its own.
set -euo pipefail

# In the order of insertion; on 6.1 virtio_ring has to come before virtio.
MODULES="virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci netfs fscache 9pnet 9pnet_virtio 9p overlay"

die() {
	echo "kernel_vm: $*" >&2
	exit 125
}

# A private apt with the suites that hold kernels, from this machine's own mirrors; its lists stay as they are.
apt_setup() { # folder; sets APT
	local targets main security
	# shellcheck disable=SC2016 # apt expands
	targets=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE)' 'Created-By: Packages')
	main=$(awk '$1 == "Debian" && $3 !~ /security/ { print $2; exit }' <<<"$targets")
	security=$(awk '$1 == "Debian" && $3 ~ /security/ { print $2; exit }' <<<"$targets")
	[ -n "$main" ] || die "no Debian mirror in the apt configuration (apt-get update?)"
	mkdir -p "$1"/{lists/partial,cache/archives/partial}
	printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
		"$main" bookworm "$main" trixie-backports \
		${security:+"$security" bullseye-security "$security" bookworm-security} >"$1/sources.list"
	APT=(-qq -o "Dir::Etc::sourcelist=$1/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$1/lists"
		-o "Dir::Cache=$1/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
	apt-get "${APT[@]}" update || echo "kernel_vm: some suites are missing" >&2
}

newest() { # series; the release as `uname -r` says it; not the cloud flavour, which has no 9p
	apt-cache "${APT[@]}" pkgnames linux-image- |
		sed -nE 's/^linux-image-([0-9]+\.[0-9]+\.[0-9][^-]*(-[0-9]+)?-amd64)$/\1/p' |
		awk -v s="$1" 'index($0, s) == 1 && substr($0, length(s) + 1) !~ /^[0-9]/' | sort -V | tail -1
}

unpacked() { # DIR SERIES; the release that is there
	local stamp
	for stamp in "$1/$2"/stamp "$1/$2"[.+-]*/stamp; do
		[ ! -e "$stamp" ] || basename "$(dirname "$stamp")"
	done | sort -V | tail -1
}

get_one() { # DIR SCRATCH SERIES
	local dir=$1 tmp=$2/$3 release packages package module path n=10
	release=$(newest "$3")
	[ -n "$release" ] || die "the Debian mirrors have no kernel $3"
	packages=("linux-image-$release")
	# Since 7.x that one is empty.
	[[ $(apt-cache "${APT[@]}" depends "${packages[0]}") != *linux-binary-* ]] ||
		packages=("linux-binary-$release" "linux-modules-$release")
	mkdir -p "$tmp/all" "$tmp/kernel/mods"
	(cd "$tmp" && apt-get "${APT[@]}" download "${packages[@]}") || die "$release: the download failed"
	for package in "$tmp"/*.deb; do
		# tar minds a pattern that one of the two packages does not have
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$tmp/all" --wildcards --no-anchored 'vmlinuz*' \
			'virtio*.ko*' 'netfs.ko*' 'fscache.ko*' '9p*.ko*' 'overlay.ko*' 2>/dev/null || true
	done
	find "$tmp/all" -name 'vmlinuz*' -exec cp {} "$tmp/kernel/vmlinuz" \;
	[ -s "$tmp/kernel/vmlinuz" ] || die "$release: no vmlinuz in ${packages[*]}"
	for module in $MODULES; do # one that is built in has no file
		path=$(find "$tmp/all" -name "$module.ko*")
		n=$((n + 1))
		case $path in
		*.xz) xz -dc "$path" >"$tmp/kernel/mods/$n-$module.ko" ;;
		?*) cp "$path" "$tmp/kernel/mods/$n-$module.ko" ;;
		esac
	done
	touch "$tmp/kernel/stamp"
	rm -rf "${dir:?}/$release"
	mv "$tmp/kernel" "$dir/$release"
	rm -rf "$tmp"
}

get() { # DIR SERIES...
	local dir series missing=() bad=0
	dir=$(realpath -m "$1")
	shift
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock 9
	for series; do
		[ -n "$(unpacked "$dir" "$series")" ] || missing+=("$series")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	scratch=$(mktemp -d "$dir/get.XXXXXX")
	trap 'rm -rf "$scratch"' EXIT
	apt_setup "$scratch"
	for series in "${missing[@]}"; do
		(get_one "$dir" "$scratch" "$series") || bad=125
	done
	return $bad
}

guest_init() {
	cat <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin; export PATH=/bin
mkdir -p /proc /sys /dev /ro /ctl; mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for m in /mods/*.ko; do insmod $m; done
p9() { mkdir -p "$2"; mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,$3 $1 "$2"; }
p9 ctl /ctl cache=none; p9 root /ro ro,cache=loose; . /ctl/env; N=/ro
for d in tmp run var/tmp; do mount -t tmpfs -o mode=1777 tmpfs $N/$d; done
mount -t proc proc $N/proc; mount -t sysfs sys $N/sys; mount -t devtmpfs dev $N/dev; mkdir -p $N/dev/pts $N/dev/shm
mount -t devpts devpts $N/dev/pts; mount -t tmpfs -o mode=1777 shm $N/dev/shm; ln -sf /proc/self/fd $N/dev/fd
mount -t tracefs tracefs $N/sys/kernel/tracing; mount -t debugfs debugfs $N/sys/kernel/debug
mount -t securityfs security $N/sys/kernel/security; mount -t bpf bpf $N/sys/fs/bpf; mount -t cgroup2 cgroup2 $N/sys/fs/cgroup
hostname guest; ifconfig lo up; p9 here "$N$HERE" ro,cache=loose; p9 out "$N$OUT" cache=mmap; stty -F /dev/ttyS0 raw -echo
chroot $N /bin/bash -c "$(cat /ctl/cmd)" </dev/null >/dev/ttyS0 2>&1
echo $? >/ctl/rc; sync; poweroff -f
INIT
}

initrd_make() { # folder of the kernel, scratch folder, initrd
	mkdir -p "$2/bin"
	cp -r "$1/mods" "$2"
	cp "$(command -v busybox)" "$2/bin/busybox"
	guest_init >"$2/init"
	chmod +x "$2/init"
	(cd "$2" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$3"
}

run() { # DIR SERIES OPTIONS
	local dir=$1 kernel limit=600 out=$1/out status=0 pid='' share=",security_model=none,multidevs=remap"
	kernel=$(unpacked "$1" "$2")
	[ -n "$kernel" ] || die "no kernel $2 in $1"
	shift 2
	while [ $# -gt 0 ]; do
		case $1 in
		--timeout) limit=$2 ;;
		--out) out=$2 ;;
		--) shift && break ;;
		*) die "what is $1?" ;;
		esac
		shift 2
	done
	[ $# -gt 0 ] || die "no command"
	mkdir -p "$out"
	out=$(realpath "$out")
	control=$(mktemp -d)
	trap 'kill $pid 2>/dev/null || true; rm -rf "$control"' EXIT
	initrd_make "$dir/$kernel" "$control/initrd.d" "$control/initrd"
	mkdir "$control/shared"
	printf 'HERE=%q\nOUT=%q\n' "$PWD" "$out" >"$control/shared/env"
	{
		printf 'export PATH=%q HOME=%q LANG=C.UTF-8; cd %q || exit 125; ' "$PATH" "$HOME" "$PWD"
		printf '%q ' "$@"
	} >"$control/shared/cmd"
	timeout --foreground -k 5 "$limit" qemu-system-x86_64 -machine q35 -accel "${KERNEL_VM_ACCEL:-tcg,thread=single}" \
		-cpu max,la57=off -smp "${KERNEL_VM_CPUS:-2}" -m "${KERNEL_VM_MEM:-1024}" -nodefaults -no-user-config \
		-no-reboot -display none -serial stdio -serial "file:$out/kernel.log" -kernel "$dir/$kernel/vmlinuz" \
		-initrd "$control/initrd" -append "console=ttyS1 panic=-1 mitigations=off nowatchdog ${KERNEL_VM_APPEND-}" \
		-virtfs "local,mount_tag=root,path=/,readonly=on$share" \
		-virtfs "local,mount_tag=ctl,path=$control/shared$share" \
		-virtfs "local,mount_tag=here,path=$PWD,readonly=on$share" \
		-virtfs "local,mount_tag=out,path=$out$share" </dev/null &
	pid=$!
	wait $pid || status=$?
	[[ $status != 124 && $status != 137 ]] || {
		echo "kernel_vm: $kernel: no end after $limit s" >&2
		exit 124
	}
	[ -s "$control/shared/rc" ] || {
		tail -n 15 "$out/kernel.log" >&2
		die "$kernel: the guest ended without a status"
	}
	exit "$(cat "$control/shared/rc")"
}

case ${1-} in
get)
	[ $# -ge 3 ] || die "get DIR SERIES..."
	shift
	get "$@"
	;;
run)
	[ $# -ge 4 ] || die "run DIR SERIES -- CMD"
	shift
	run "$@"
	;;
*)
	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
	exit 2
	;;
esac

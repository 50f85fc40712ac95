#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Clocks, throttle reasons and errors of accelerators, on a stand-in for NVIDIA's library (tests/fake/nvml.c): a lower clock as
# the cause of slow steps, which device a process uses, and a library that is missing, hangs, dies or lies.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and shell; tests are subshells; bats sets stderr
load lib

setup_file() { e2e_setup_file; }
setup() {
	e2e_setup
	need_probes
	export FAKE_NVML=$T/nvml
	mkdir "$T/dev"
	touch "$T/dev/nvidia0" "$T/dev/nvidia1" "$T/dev/null"
	unshare -m mount --bind "$T/dev" /dev || cannot "no private mount of /dev can be made"
}
teardown() { e2e_teardown; }

figures() { # words of FAKE_NVML
	printf '%s %s\n' devices 2 max 1980 power 300000 total 4096 used 1024 "$@" >"$T/nvml.new"
	mv "$T/nvml.new" "$T/nvml"
}

# A training that has these devices open, as files below a /dev of its own.
start_training() { # devices steps
	start_job unshare -m bash -c 'mount --bind "$0/dev" /dev
		for i in $1; do exec {fd}<>"/dev/$i"; done
		shift
		exec "$@"' "$T" "$1" "$FAKE/cuda_train" "steps=$2" pace=1000 every=1000000
	job_line loaded
}
# gp-bpf with the stand-in, which NVML replaces.
watch_training() {
	LD_LIBRARY_PATH=${NVML-$FAKE/nvml} start_watch record -o "$T/tape" --slow-after 5s --marker sync --pid "$JOB" --quiet --log-level info \
		--export "json:$T/out"
	job_go
}
steps() { [ "$(grep -c '"type":"step"' "$T/out")" -ge "$1" ]; }
slow() { grep -qs '"kind":"fail_slow"' "$T/out"; }
logged() { grep -q "$1" "$T/watch.err"; }
# What the tape has of devices: name, clock, reasons, errors.
devices_recorded() {
	PYTHONPATH=$TOP/tests/tools python3 -c '
import struct, sys
from tape import records, text
for kind, payload, *_ in records(sys.argv[1]):
    if kind == 95:
        f = struct.unpack("<4Q4I2HI24s", payload)
        print(text(f[11]), f[4], f[7], f[3])' "$T/tape"
}

@test "an accelerator that is too hot: its clock is the cause, and the evidence names it" {
	local helper
	figures clock 1980 reasons 4 busy 90 celsius 60 errors 0
	export FAKE_CUDA='cuStreamSynchronize:latency=55ms,latency=110ms@180'
	start_training nvidia1 280
	watch_training
	READY_S=60 until_true steps 100
	helper=$(pgrep -P "$WATCH" -x gp-bpf-device)
	equal 0000000000000000 "$(sed -n 's/^CapEff:\t//p' "/proc/$helper/status")" "capabilities of the helper process"
	READY_S=60 until_true steps 166
	figures clock 990 reasons 0x28 busy 90 celsius 87 errors 0
	job_end
	watch_end
	jq -c 'select(.type == "health")' "$T/out" >"$T/health"
	jq -se '.[0] | .kind == "fail_slow" and .why == "device_throttled"
		and (.causes[] | select(.cause == "device_throttled") | .share >= 0.7)
		and (.evidence | test("; GPU 0 runs at 1?[0-9]{3} of 1980 MHz \\((power limit, )?thermal, hardware slowdown\\), 87 °C"))' "$T/health" || { cat "$T/health" >&2; false; }
	equal "GPU 0 1980 4 0" "$(devices_recorded | head -1)" "first record"
	equal '["GPU 0",990,1980,["thermal","hardware"],300000,87,90,1024,4096,0,0]' "$("$GP_BPF" replay --json "$T/tape" |
		jq -c '.ranks[0].accelerator | [.name, .clock_mhz, .clock_max_mhz, .reasons, .power_mw, .celsius, .busy_percent,
			.memory_used, .memory_total, .uncorrected_errors, .new_uncorrected_errors]')" "the report's figures"
	# The tape has all of it.
	run -0 --separate-stderr "$GP_BPF" replay --quiet --export "json:$T/again" "$T/tape"
	jq -c 'select(.type == "health")' "$T/again" | cmp - "$T/health"
}

@test "uncorrected memory errors: reported once" {
	figures clock 1980 reasons 0 errors 3
	export FAKE_CUDA='cuStreamSynchronize:latency=10ms'
	start_training nvidia0 800
	watch_training
	READY_S=60 until_true steps 300
	figures clock 1980 reasons 0 errors 5
	READY_S=60 until_true steps 500
	figures clock 1980 reasons 0 errors 6
	job_end
	watch_end
	equal '["device_error","uncorrected ECC errors","GPU 1: 2 new uncorrected memory errors (ECC), 5 since its driver was loaded"]' \
		"$(of_type health "$T/out" '[.kind, .name, .evidence]')" "what is reported"
}

@test "several accelerators: the one that the environment names, else none" {
	figures 0.clock 1000 1.clock 1001 reasons 0
	export FAKE_CUDA='cuStreamSynchronize:latency=10ms'
	CUDA_VISIBLE_DEVICES=1 start_training "nvidia0 nvidia1" 500
	watch_training
	job_end
	watch_end
	equal "GPU 1 1001 0 0" "$(devices_recorded | sort -u)" records
	rm "$T/watch.ready"
	start_training "nvidia0 nvidia1" 500
	watch_training
	job_end
	watch_end
	equal "" "$(devices_recorded)" records
	logged "process $JOB: it has 2 accelerators open"
	rm "$T/watch.ready"
	LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 start_training "nvidia0 nvidia1" 500
	watch_training
	job_end
	watch_end
	equal "GPU 1 1001 0 0" "$(devices_recorded | sort -u)" records
}

@test "a library that dies, hangs or lies: watching continues" {
	figures clock 1000 reasons 0 die 1
	export FAKE_CUDA='cuStreamSynchronize:latency=10ms'
	start_training nvidia1 3000
	watch_training
	READY_S=60 until_true logged "has ended"
	figures clock 1000 reasons 0 hang 1
	sleep 8
	figures clock 1001 reasons 0 lie 1
	recorded() { cp "$T/tape" "$T/copy"; devices_recorded | grep -q .; }
	READY_S=60 until_true recorded
	job_end
	watch_end
	equal 1 "$(grep -c "the helper process that reads their clocks" "$T/watch.err")" warnings
	equal 3000 "$(count_lines step "$T/out")" steps
	equal 'GPU 0 4294967295 383 18446744073709551615' "$(devices_recorded | sort -u)" records
}

@test "an accelerator of another vendor, from sysfs" {
	local sys=$T/root/sys/class/drm/renderD129/device
	mkdir -p "$T/dev/dri" "$T/root/proc" "$sys/drm/card1" "$sys/hwmon/hwmon2"
	touch "$T/dev/dri/renderD129"
	echo 0x1002 >"$sys/vendor"
	printf '0: 500Mhz\n1: 2100Mhz *\n' >"$sys/pp_dpm_sclk"
	echo 300000000 | tee "$sys/hwmon/hwmon2/power1_average" >"$sys/hwmon/hwmon2/power1_cap"
	printf '#!/bin/sh\nexec unshare -m sh -c '\''mount --bind /proc "$0/proc"; exec "$@"'\'' %q %q "$@" --root %q\n' "$T/root" "$GP_BPF" "$T/root" \
		>"$T/gp-bpf"
	chmod +x "$T/gp-bpf"
	export FAKE_CUDA='cuStreamSynchronize:latency=10ms'
	start_training dri/renderD129 500
	GP_BPF=$T/gp-bpf watch_training
	job_end
	watch_end
	equal "card1 2100 4 0" "$(devices_recorded | sort -u)" records
}

@test "no library: logged once" {
	figures clock 1000
	mkdir "$T/empty"
	export FAKE_CUDA='cuStreamSynchronize:latency=10ms'
	start_training nvidia1 400
	NVML=$T/empty watch_training
	job_end
	watch_end
	equal 1 "$(grep -c 'libnvidia-ml.so.1 not found' "$T/watch.err")" lines
	run "$GP_BPF" check
	[[ $output == *"accelerator clocks: libnvidia-ml.so.1 not found"* ]]
	figures fail 9
	LD_LIBRARY_PATH=$FAKE/nvml run "$GP_BPF" check --json
	jq -e '.accelerator_clocks == "libnvidia-ml.so.1 fails: Driver Not Loaded (9); 0 by sysfs"' <<<"$output"
	figures
	LD_LIBRARY_PATH=$FAKE/nvml run "$GP_BPF" check --json
	jq -e '.accelerator_clocks == "2 by libnvidia-ml.so.1, 0 by sysfs"' <<<"$output"
}

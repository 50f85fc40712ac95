# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by what starts tests: what the user, a scheduler or a pod has in the environment is no part of a test. gp-bpf, the jobs that it
# watches, Python and SDKs read it. Messages are compared in English.
unset "${!GP_BPF_@}" "${!OTEL_@}" "${!SLURM_@}" "${!OMPI_@}" "${!TORCHELASTIC_@}" "${!KUBERNETES_@}" RANK LOCAL_RANK WORLD_SIZE \
	PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONOPTIMIZE PYTHONWARNINGS PYTHONUNBUFFERED NO_COLOR LD_PRELOAD LANGUAGE
export LC_ALL=C.UTF-8

# SPDX-License-Identifier: Apache-2.0
"""What Cloud Monitoring knows of itself: kinds of metrics and resources that an ordinary project may write. The
series of the goodput library are those of ml-goodput-measurement 0.2.3, gcp_metrics.py."""
from __future__ import annotations

import re
from typing import Any

PREFIXES = ("custom.googleapis.com/", "workload.googleapis.com/", "external.googleapis.com/", "prometheus.googleapis.com/")
WORKLOAD = "compute.googleapis.com/workload/"
WORKLOAD_RESOURCE = "compute.googleapis.com/Workload"
TYPE = re.compile(r"[a-z0-9.-]+(/[A-Za-z0-9_.-]+)+\Z", re.ASCII)
LABEL_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z", re.ASCII)
LABELS_MAX, KEY_MAX, VALUE_MAX, TYPE_MAX = 30, 100, 1024, 200

# Labels of each; project_id may be there too. Those with "?" may be empty.
RESOURCES: dict[str, str] = {
    "global": "",
    "gce_instance": "instance_id zone",
    "generic_node": "location namespace? node_id",
    "generic_task": "location namespace? job task_id",
    "k8s_container": "location cluster_name namespace_name pod_name container_name",
    "k8s_pod": "location cluster_name namespace_name pod_name",
    "k8s_node": "location cluster_name node_name",
    "k8s_cluster": "location cluster_name",
    "prometheus_target": "location cluster? namespace? job instance",
    "aws_ec2_instance": "instance_id region aws_account",
    WORKLOAD_RESOURCE: "location workload_id replica_id",
}
# A location is a zone, a region, or "global"; an AWS one has its cloud before it.
LOCATION = re.compile(r"(aws:)?[a-z]+(-[a-z]+)*-?\d*-?[a-z]?\Z", re.ASCII)

BADPUT = frozenset("""TPU_INITIALIZATION TRAINING_PREP PROGRAM_STARTUP DATA_LOADING_SYNC UNPRODUCTIVE_CHECKPOINT_SAVE_TIME
    UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME WASTED_PROGRESS_FROM_DISRUPTION INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION
    CUSTOM_BADPUT_EVENTS OTHER ELASTIC_SLICE_DOWN ELASTIC_SCALE_UP ELASTIC_REINITIALIZATION""".split())
# Of each of the library's metrics: type of the value; labels, with the values allowed ("": see LABEL_VALUES).
LIBRARY: dict[str, tuple[str, dict[str, str]]] = {
    "goodput_time": ("DOUBLE", {"goodput_source": "TOTAL", "accelerator_type": ""}),
    "badput_time": ("DOUBLE", {"badput_source": "", "accelerator_type": ""}),
    "total_elapsed_time": ("DOUBLE", {"window_type": "cumulative", "accelerator_type": ""}),
    "disruptions": ("INT64", {"window_type": "cumulative", "accelerator_type": ""}),
    "max_productive_steps": ("INT64", {"accelerator_type": ""}),
    "step_time_deviation": ("DOUBLE", {"accelerator_type": ""}),
    "performance": ("DOUBLE", {}),
    "interval_goodput": ("DOUBLE", {"goodput_source": "TOTAL", "accelerator_type": "", "rolling_window_size": ""}),
    "interval_badput": ("DOUBLE", {"badput_source": "", "accelerator_type": "", "rolling_window_size": ""}),
    "stepping_slice_efficiency":
        ("DOUBLE", {"accelerator_type": "", "window_type": "CUMULATIVE|INTERVAL", "rolling_window_size": ""}),
    "available_slice_efficiency":
        ("DOUBLE", {"accelerator_type": "", "window_type": "CUMULATIVE|INTERVAL", "rolling_window_size": ""}),
}


def library_labels(name: str, labels: dict[str, str]) -> str | None:
    """What is wrong with the labels of one of the library's series; None: nothing."""
    wanted = LIBRARY[name][1]
    unknown = sorted(set(labels) - set(wanted) - {"cluster_name"})
    if unknown or (name == "performance" and labels):
        return f"Unrecognized metric labels: ({' '.join(unknown or sorted(labels))})."
    missing = sorted(set(wanted) - set(labels))
    if missing:
        return f"The set of metric labels is incomplete. Missing labels: ({' '.join(missing)})."
    for key, value in labels.items():
        allowed = wanted.get(key, "")
        if (not value or allowed and value not in allowed.split("|")
                or key == "rolling_window_size" and not re.fullmatch(r"\d+", value, re.ASCII)
                or key == "badput_source" and value.split(".")[0] not in BADPUT
                or key == "badput_source" and "." in value and not re.fullmatch(r"[A-Z_]+\..+", value, re.DOTALL)):
            return f'Metric label {key} has an invalid value of "{value}".'
    return None


def resource_problem(resource: dict[str, Any], project: str) -> str | None:
    """What is wrong with a resource; None: nothing. The texts on missing labels and locations are Google's."""
    kind, labels = resource.get("type", ""), resource.get("labels", {})
    if kind not in RESOURCES:
        return f'Unrecognized resource type: "{kind}".'
    rows = RESOURCES[kind].split()
    known = {row.rstrip("?") for row in rows}
    if kind != WORKLOAD_RESOURCE:
        known.add("project_id")
    unknown = sorted(set(labels) - known)
    if unknown:
        return f"Unrecognized resource labels: ({' '.join(unknown)})."
    missing = sorted(row.rstrip("?") for row in rows if row.rstrip("?") not in labels)
    if missing:
        return f"The set of resource labels is incomplete. Missing labels: ({' '.join(missing)})."
    empty = sorted(row for row in rows if row[-1] != "?" and not labels[row])
    if empty:
        return f"The set of resource labels is incomplete. Missing labels: ({' '.join(empty)})."
    if labels.get("project_id", project) != project:
        return f'Resource label project_id has an invalid value of "{labels["project_id"]}".'
    place = labels.get("location", labels.get("zone", labels.get("region", "global")))
    if not LOCATION.match(place):
        return "Unrecognized region or location."
    return None

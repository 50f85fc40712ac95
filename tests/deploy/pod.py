# SPDX-License-Identifier: Apache-2.0
"""A pod of a manifest as kubelet and a container runtime make it: the config.json that crun runs, of the pod's own
specification. What of a specification is not known here is an error, so that nothing of a manifest is passed over in silence.

Not as on a node: the network namespace is that of whoever runs this, and no cgroup is made (whoever runs crun is in one)."""
import os
import re

# What of a pod's and a container's specification is used below, and what says nothing to a runtime.
POD_USED = {"hostPID", "volumes", "containers", "automountServiceAccountToken", "terminationGracePeriodSeconds"}
POD_OTHERS = {"serviceAccountName", "enableServiceLinks", "priorityClassName", "tolerations", "affinity"}
USED = {"name", "args", "env", "ports", "startupProbe", "readinessProbe", "livenessProbe", "resources", "securityContext",
        "volumeMounts"}
OTHERS = {"image", "imagePullPolicy", "terminationMessagePolicy"}
SECURITY = {"privileged", "runAsUser", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "capabilities", "seccompProfile",
            "appArmorProfile"}
# What containerd leaves to a container that asks for nothing.
USUAL = "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
PROPAGATION = {"Bidirectional": "rshared", "HostToContainer": "rslave", "None": "rprivate"}


def known(what, is_there, *may_be):
    unknown = set(is_there) - set().union(*may_be)
    if unknown:
        raise SystemExit(f"pod.py: {what}: {', '.join(sorted(unknown))}: not known here")


def bounding_set():
    """All that there are and may be had: what "privileged" gives."""
    with open("/proc/self/status", encoding="ascii") as f:
        bits = int(re.search(r"CapBnd:\s*(\w+)", f.read()).group(1), 16)
    with os.popen("setpriv --list-caps") as names:
        return ["CAP_" + name.strip().upper() for i, name in enumerate(names) if bits >> i & 1]


def capabilities(security):
    if security.get("privileged"):
        return bounding_set()
    rows = security.get("capabilities", {})
    left = [] if "ALL" in rows.get("drop", []) else [c for c in USUAL.split() if c not in rows.get("drop", [])]
    return ["CAP_" + c for c in left + rows.get("add", [])]


def environment(container, fields, cluster):
    """What the specification says, and what kubelet adds: where the API server is."""
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": fields["metadata.name"], **cluster}
    for row in container.get("env", []):
        env[row["name"]] = row["value"] if "value" in row else fields[row["valueFrom"]["fieldRef"]["fieldPath"]]
    return [f"{name}={value}" for name, value in env.items()]


def volume_source(volume, node):
    """Where on this machine that lies; node: where a node's own folders are, and its ConfigMaps."""
    known(f"volume {volume['name']}", volume, {"name", "hostPath", "configMap"})
    if "configMap" in volume:
        return os.path.join(node, "configmaps", volume["configMap"]["name"])
    path, kind = volume["hostPath"]["path"], volume["hostPath"].get("type", "")
    # The kernel's are the machine's own.
    place = path if path.startswith("/sys/") else node + path
    if kind == "DirectoryOrCreate":
        os.makedirs(place, exist_ok=True)
    elif kind != "Directory" or not os.path.isdir(place):
        raise SystemExit(f"pod.py: volume {volume['name']}: {place} is no {kind or 'known type'}")
    return place


def bind(source, target, read_only, propagation="None"):
    return {"destination": target, "type": "bind", "source": source,
            "options": ["rbind", "ro" if read_only else "rw", PROPAGATION[propagation]]}


def mounts(pod, container, node, account):
    privileged = container.get("securityContext", {}).get("privileged")
    usual = ["nosuid", "noexec", "nodev"]
    made = [{"destination": "/proc", "type": "proc", "source": "proc", "options": usual},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755"]},
            {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["nosuid", "noexec", "newinstance"]},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": usual},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": usual + ["rw" if privileged else "ro"]}]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for row in container["volumeMounts"]:
        known(f"mount {row['name']}", row, {"name", "mountPath", "readOnly", "mountPropagation"})
        made.append(bind(volume_source(volumes[row["name"]], node), row["mountPath"], row.get("readOnly", False),
                         row.get("mountPropagation", "None")))
    if pod.get("automountServiceAccountToken", True):
        made.append(bind(account, ACCOUNT, True))
    return made


def config(pod, entrypoint, root, node, account, fields, cluster):
    """fields: what env may refer to; cluster: variables of kubelet; account: the folder of the service account's token."""
    known("pod", pod, POD_USED, POD_OTHERS)
    container = pod["containers"][0]
    known("container", container, USED, OTHERS)
    security = container.get("securityContext", {})
    known("securityContext", security, SECURITY)
    caps = capabilities(security)
    namespaces = ["mount", "ipc", "uts"] + ([] if pod.get("hostPID") else ["pid"])
    made = {
        "ociVersion": "1.0.2",
        "root": {"path": root, "readonly": security.get("readOnlyRootFilesystem", False)},
        "hostname": fields["metadata.name"],
        "mounts": mounts(pod, container, node, account),
        "process": {
            "user": {"uid": security.get("runAsUser", 0), "gid": 0}, "cwd": "/", "terminal": False,
            "args": entrypoint + container["args"], "env": environment(container, fields, cluster),
            "noNewPrivileges": not security.get("allowPrivilegeEscalation", True),
            "capabilities": {kind: caps for kind in ("bounding", "effective", "permitted")},
        },
        "linux": {"namespaces": [{"type": kind} for kind in namespaces], "rootfsPropagation": "rslave"},
    }
    if security.get("privileged"):  # every device of the node; of those this one is read
        kmsg = os.stat("/dev/kmsg").st_rdev
        made["linux"]["devices"] = [{"path": "/dev/kmsg", "type": "c", "major": os.major(kmsg), "minor": os.minor(kmsg),
                                     "fileMode": 0o644, "uid": 0, "gid": 0}]
    else:
        made["linux"]["maskedPaths"] = ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"]
        made["linux"]["readonlyPaths"] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
    return made


def probe_url(pod, name):
    """Where kubelet asks: the path and the port of a probe."""
    container = pod["containers"][0]
    get = container[name]["httpGet"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    return f"http://127.0.0.1:{ports.get(get['port'], get['port'])}{get['path']}"

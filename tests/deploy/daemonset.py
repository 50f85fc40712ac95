#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gp-bpf as the DaemonSet has it, in a container (crun) that is made of the manifest, on this kernel, with a cluster and a Cloud
Monitoring that are stand-ins. Three real jobs in the cgroups of pods: PyTorch under torchrun (two ranks, a JobSet's), JAX (a
Job's), OpenCL (a pod by itself). gp-bpf is upgraded while they step; meanwhile the pod of torch is evicted, and the JobSet makes it
anew. At the end the last scrape, what Cloud Monitoring got, and the report of the store have to tell what the jobs' own journals
do (one_story.py). TAP; as root; KEEP=DIR keeps what was written in DIR."""
import datetime
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
import uuid

import one_story
import pod as oci
from one_story import JOBS, JOBSET_UID, JOB_UID, NAMESPACE, NODE, POD_UID

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
MANIFESTS = TOP + "/deploy/kubernetes/base"
CONTROL_S = 150  # the longest wait for anything that is to happen at once
LIMIT_S = 280    # and for all of it
STEPS, EVERY, FALL, PACE = 400, 50, 90, 20


def skip(why):
    print(f"ok 1 - a DaemonSet's pod watches three jobs # skip {why}\n1..1")
    sys.exit(1 if os.environ.get("CI") == "true" else 0)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def until(what, condition, seconds=CONTROL_S):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"never: {what}")
        time.sleep(0.05)


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return reply.read().decode()
    except OSError:
        return None


def lines(path):
    try:
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f if line.endswith("\n")]
    except FileNotFoundError:
        return []


class Machine:
    """Processes that are ended with the test, and cgroups that go with them."""

    def __init__(self, folder):
        self.folder, self.started, self.groups = folder, [], []
        self.cgroup = "/sys/fs/cgroup"
        self.own = f"gp-bpf-story-{os.getpid()}"

    def start(self, name, command, group=None, **environment):
        """In that cgroup, from its first instruction on; "go" is what it reads."""
        if group:
            os.makedirs(group, exist_ok=True)
            self.groups.append(group)

        def join():
            if group:
                with open(group + "/cgroup.procs", "w", encoding="ascii") as f:
                    f.write("0")
        with open(f"{self.folder}/{name}.out", "ab") as out:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out, cwd=self.folder,
                                       start_new_session=True, preexec_fn=join, env={**os.environ, **environment})
            process.stdin.write(b"go\n")
            process.stdin.close()
        self.started.append(process)
        return process

    def pod_group(self, quality, uid, container):
        """By systemd's driver, for containerd."""
        path, slices = self.cgroup + "/" + self.own, ["kubepods"] + ([quality] if quality else [])
        for i in range(len(slices)):
            path += "/" + "-".join(slices[:i + 1]) + ".slice"
        return f"{path}/{'-'.join(slices)}-pod{uid.replace('-', '_')}.slice/cri-containerd-{container}.scope"

    @staticmethod
    def freeze(group, frozen):
        with open(group + "/cgroup.freeze", "w", encoding="ascii") as f:
            f.write(str(int(frozen)))
        while frozen:
            with open(group + "/cgroup.events", encoding="ascii") as f:
                if "frozen 1" in f.read():
                    return

    def kill_group(self, group):
        """As the runtime does when a container is ended by force."""
        def processes():
            with open(group + "/cgroup.procs", encoding="ascii") as f:
                return f.read().split()
        while processes():
            for pid in processes():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for process in self.started:
                process.poll()
            time.sleep(0.01)

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        for group in self.groups:
            if os.path.isdir(group):
                self.kill_group(group)
                until(f"nobody in {group}", lambda group=group: "populated 0" in read(group + "/cgroup.events"), 30)
                os.removedirs(group)  # and what is above it, once nothing else is in that


class Cluster:
    """The stand-in for the API server, and what it holds."""

    def __init__(self, machine):
        self.folder = folder = machine.folder
        machine.start("kubernetes", [f"{TOP}/tests/servers/kubernetes.py", "--port-file", f"{folder}/kube", "--tls", f"{folder}/tls",
                                     "--tls-port-file", f"{folder}/kube.tls", "--token-file", f"{folder}/token",
                                     "--journal", f"{folder}/kube.journal"])
        until("the API server", lambda: os.path.exists(folder + "/kube"))
        self.control = f"http://127.0.0.1:{open(folder + '/kube', encoding='ascii').read().strip()}/control"
        self.environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1",
                            "KUBERNETES_SERVICE_PORT": open(folder + "/kube.tls", encoding="ascii").read().strip()}
        self.account = folder + "/account"
        os.mkdir(self.account)
        shutil.copy(folder + "/token", self.account + "/token")
        shutil.copy(folder + "/tls/ca.pem", self.account + "/ca.crt")
        with open(self.account + "/namespace", "w", encoding="ascii") as f:
            f.write("gp-bpf")

    def do(self, **deeds):
        urllib.request.urlopen(urllib.request.Request(self.control, data=json.dumps(deeds).encode()), timeout=10).close()

    def put_pod(self, namespace, name, uid, labels, owner, container=None, **status):
        made = {"kind": "Pod", "apiVersion": "v1",
                "metadata": {"name": name, "namespace": namespace, "uid": uid, "labels": labels, "creationTimestamp": now(),
                             "ownerReferences": [{**owner, "controller": True}] if owner else []},
                "spec": {"nodeName": NODE, "containers": [{"name": "train", "image": "train:1"}]},
                "status": {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}],
                           "containerStatuses": [{"name": "train", "containerID": f"containerd://{container}", "restartCount": 0,
                                                  "state": {"running": {"startedAt": now()}}}]}}
        made["metadata"].update(status.pop("metadata", {}))
        made["status"]["conditions"] += status.pop("conditions", [])
        self.do(put=made)
        return made


class DaemonSet:
    """Pods of gp-bpf, one after the other, each by the manifest."""

    def __init__(self, machine, cluster, settings):
        import yaml
        self.machine, self.cluster, self.folder = machine, cluster, machine.folder
        with open(MANIFESTS + "/daemonset.yaml", encoding="utf-8") as f:
            self.manifest = yaml.safe_load(f)
        self.pod = self.manifest["spec"]["template"]["spec"]
        self.node = self.folder + "/node"
        configmap = next(v["configMap"]["name"] for v in self.pod["volumes"] if "configMap" in v)
        os.makedirs(f"{self.node}/configmaps/{configmap}")
        with open(MANIFESTS + "/config.yaml", encoding="utf-8") as f, \
                open(f"{self.node}/configmaps/{configmap}/config.yaml", "w", encoding="utf-8") as out:
            out.write(f.read() + settings)
        with open(TOP + "/deploy/Dockerfile", encoding="utf-8") as f:
            self.entrypoint = json.loads(re.search(r"^ENTRYPOINT (.*)$", f.read(), re.M).group(1))
        self.metrics = oci.probe_url(self.pod, "readinessProbe").rpartition("/")[0] + self.manifest["spec"]["template"][
            "metadata"]["annotations"]["prometheus.io/path"]
        cluster.do(put=[{"kind": "Namespace", "metadata": {"name": "gp-bpf"}},
                        {"kind": "DaemonSet", "metadata": {"name": self.manifest["metadata"]["name"], "namespace": "gp-bpf"}},
                        {"kind": "Node", "metadata": {"name": NODE}, "status": {}}])
        self.name = self.process = self.own = None

    def image(self, version):
        root, first = f"{self.folder}/root-{version}", f"{self.folder}/root-first"
        if version == "first":
            subprocess.run([TOP + "/deploy/root.sh", root], check=True, capture_output=True)
            return root
        # A later one: the same program, which calls itself by another version.
        shutil.copytree(first, root, symlinks=True)
        path = root + self.entrypoint[0]
        with open(path, "rb") as f:
            program = f.read()
        program, n = re.subn(rb"(?<!LIBBPF_)(?<=[ /'\0])0\.1\.0(?=[\0'. <])", version.encode(), program)
        assert n
        with open(path, "wb") as f:
            f.write(program)
        return root

    def start(self, version, name, uid, container):
        """Returns once it is ready as kubelet sees it."""
        root, bundle = self.image(version), f"{self.folder}/{name}"
        fields = {"metadata.name": name, "metadata.namespace": "gp-bpf", "spec.nodeName": NODE, "status.hostIP": "127.0.0.1"}
        # Beside the manifest's variables one says where the stand-in for the metadata server is.
        cluster = {**self.cluster.environment, "GCE_METADATA_HOST": "127.0.0.1:" + read(self.folder + "/google.port")}
        os.mkdir(bundle)
        with open(bundle + "/config.json", "w", encoding="utf-8") as f:
            json.dump(oci.config(self.pod, self.entrypoint, root, self.node, self.cluster.account, fields, cluster), f, indent=1)
        self.own = lambda **more: self.cluster.put_pod("gp-bpf", name, uid, {}, {"kind": "DaemonSet", "uid": "d",
                                                       "name": self.manifest["metadata"]["name"]}, container, **more)
        self.own()
        self.name = name
        self.process = self.machine.start(name, ["crun", "--root", self.folder + "/crun", "--cgroup-manager", "disabled", "run",
                                                 "--bundle", bundle, name], self.machine.pod_group("burstable", uid, container))
        for probe in ("startupProbe", "readinessProbe"):
            until(f"{name}: {probe}; {read(f'{self.folder}/{name}.out')}",
                  lambda probe=probe: self.process.poll() is not None or get(oci.probe_url(self.pod, probe)) is not None)
        if self.process.poll() is not None:
            raise RuntimeError(f"{name} ended: {read(f'{self.folder}/{name}.out')}")

    def state(self):
        """What is told on the node alone."""
        return subprocess.run(["curl", "-sS", "--unix-socket", self.node + "/var/lib/gp-bpf/gp-bpf.sock", "http://node/debug/state"],
                              capture_output=True, text=True, check=False).stdout

    def inside(self, *command):
        """As kubectl exec."""
        return subprocess.run(["crun", "--root", self.folder + "/crun", "--cgroup-manager", "disabled", "exec", self.name,
                               *self.entrypoint, *command], check=True, capture_output=True, text=True).stdout

    def end(self):
        """As kubelet: asked to end, with the manifest's time for it. Returns its status."""
        self.own(metadata={"deletionTimestamp": now()})
        subprocess.run(["crun", "--root", self.folder + "/crun", "--cgroup-manager", "disabled", "kill", self.name, "TERM"], check=True)
        status = self.process.wait(self.pod["terminationGracePeriodSeconds"])
        self.cluster.do(delete=f"Pod/gp-bpf/{self.name}")
        return status


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read().strip()


def find(tool, *arguments):
    found = subprocess.run([f"{TOP}/tests/tools/{tool}", "--find", *arguments], capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


class Jobs:
    """The three trainings, each in its pod, with a journal of its own. The news of a pod comes after its process."""

    def __init__(self, machine, cluster, torch, jax):
        self.machine, self.cluster, self.folder = machine, cluster, machine.folder
        self.torch, self.jax, self.group, self.labels, self.evicted = torch, jax, {}, {}, None

    def run(self, job, pod, uid, container, quality, labels, owner, command, **environment):
        self.group[pod], self.labels[pod] = self.machine.pod_group(quality, uid, container), labels
        process = self.machine.start(job, command, self.group[pod], **environment)
        self.cluster.put_pod(NAMESPACE, pod, uid, labels, owner, container)
        return process

    def start_torch(self, suffix, uid, attempt):
        store = self.folder + "/torch.store0"
        if os.path.exists(store):
            os.unlink(store)
        key = "jobset.sigs.k8s.io/"
        return self.run("torch", "llama-workers-0-0-" + suffix, uid, attempt * 64, "burstable", {
            key + "jobset-name": "llama", key + "jobset-uid": JOBSET_UID, key + "restart-attempt": attempt,
            key + "job-global-index": "0", key + "global-replicas": "1", "batch.kubernetes.io/job-completion-index": "0",
            "batch.kubernetes.io/job-name": "llama-workers-0", "batch.kubernetes.io/controller-uid": "c" + uid[1:]},
            {"kind": "Job", "name": "llama-workers-0", "uid": "c" + uid[1:]},
            [self.torch, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--max_restarts", "0",
             TOP + "/tests/workloads/restart.py", self.folder + "/torch", self.folder + "/ckpt", str(STEPS), str(EVERY), f"pace={PACE}"],
            OMP_NUM_THREADS="1")

    def start_jax(self):
        uid = str(uuid.uuid4())
        return self.run("jax", "sweep-0-abcde", uid, "b" * 64, "besteffort", {
            "batch.kubernetes.io/job-name": "sweep", "batch.kubernetes.io/controller-uid": JOB_UID,
            "batch.kubernetes.io/job-completion-index": "0"}, {"kind": "Job", "name": "sweep", "uid": JOB_UID},
            [self.jax, TOP + "/tests/workloads/loop.py", "jax_paced", "--out", self.folder + "/jax.truth", "--steps", "100000"])

    def start_opencl(self):
        return self.run("opencl", "solver", POD_UID, "c" * 64, "", {}, None,
                        [TOP + "/build/plain/tests/fake/opencl_train", "100000", "3", "0", self.folder + "/opencl.truth", "0", str(PACE)],
                        POCL_CACHE_DIR=self.folder + "/pocl")

    def torch_steps(self):
        return len([e for e in lines(self.folder + "/torch.0") if e["what"] == "step"])

    def evict(self, suffix, uid):
        """It is to end. The pod stays in the list until its Job takes it away."""
        self.evicted = name = "llama-workers-0-0-" + suffix
        self.cluster.put_pod(NAMESPACE, name, uid, self.labels[name], None, "0" * 64, conditions=[{
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "lastTransitionTime": now(),
            "message": "Eviction API: evicting"}], metadata={"deletionTimestamp": now(), "deletionGracePeriodSeconds": 30})

    def kill_evicted(self):
        """While both ranks rest in the middle of a step."""
        group = self.group[self.evicted]

        def frozen():
            self.machine.freeze(group, True)
            at = time.monotonic_ns()
            last = [lines(f"{self.folder}/torch.{rank}")[-1] for rank in (0, 1)]
            if all(e["what"] == "step" and 10**6 < at - e["ns"] < PACE * 9 * 10**5 for e in last) and last[0]["step"] == last[1]["step"]:
                return True
            self.machine.freeze(group, False)
            return False
        until("both ranks between two steps", frozen)
        with open(self.folder + "/torch.fell", "w", encoding="utf-8") as f:
            f.write(json.dumps({"what": "fall", "ns": time.monotonic_ns()}) + "\n")
        self.machine.kill_group(group)


def inside_own_namespaces():
    """A network without anybody else, a BPF file system and a tracefs of its own."""
    if os.environ.pop("STORY_INSIDE", None):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["mount", "--make-rshared", "/"], check=True)
        subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
        if not os.listdir("/sys/kernel/tracing"):
            subprocess.run(["mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"], check=True)
        if not os.path.exists("/sys/fs/cgroup/cgroup.procs"):  # nodes have version 2; crun refuses both at once
            subprocess.run(["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"], check=True)
        return
    os.environ["STORY_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--net", "--propagation", "private", sys.executable, *sys.argv])


def start_google(machine, folder):
    machine.start("google", [f"{TOP}/tests/servers/google.py", "--port-file", folder + "/google.port", "--tokens", folder + "/tokens",
                             "--set", '{"gke": true}'])
    machine.start("gcm", [find("framework.sh", "google") or sys.executable, f"{TOP}/tests/servers/monitoring.py", "--port-file",
                          folder + "/gcm.port", "--journal", folder + "/gcm.journal", "--tokens", folder + "/tokens",
                          "--project", "stand-in-project"])
    until("Google's services", lambda: all(os.path.exists(f"{folder}/{name}.port") for name in ("google", "gcm")))
    return "http://127.0.0.1:" + read(folder + "/gcm.port")


def stop(folder, job):
    with open(f"{folder}/{job}.truth.stop", "w", encoding="ascii"):
        pass


def scrape(node):
    return one_story.metrics(get(node.metrics) or "")


def steps_seen(node, job):
    return sum(row.value for row in scrape(node) if row.name == "gpbpf_steps_total" and row.labels["job_id"] == job)


def story(machine, folder, torch, jax):
    """What happens; returns what was told of it."""
    cluster = Cluster(machine)
    gcm = start_google(machine, folder)
    node = DaemonSet(machine, cluster, f"""targets: [{{allow: namespace={NAMESPACE}}}]
exports: [cloud-monitoring, "json:/var/lib/gp-bpf/lines.json"]
steps: {{marker: clFinish}} # of OpenCL alone nobody tells where a step ends
gcm: {{endpoint: "{gcm}", interval: 10s}} # a backlog is sent one point each 5 s
""")
    jobs = Jobs(machine, cluster, torch, jax)
    node.start("first", "gp-bpf-aaaaa", "7b2c3d4e-439d-484b-8e53-2968bc15824f", "d" * 64)
    first, second = str(uuid.uuid4()), str(uuid.uuid4())  # nobody else's on this machine
    running = [jobs.start_jax(), jobs.start_opencl()]
    jobs.start_torch("aaaaa", first, "0")
    until("steps of torch and of JAX", lambda: steps_seen(node, "llama") > FALL and steps_seen(node, "sweep") > 20)
    jobs.evict("aaaaa", first)
    until("news of the eviction", lambda: "its pod: evicted" in node.state())
    status = node.end()
    at = jobs.torch_steps()
    until("steps that nobody watches", lambda: jobs.torch_steps() > at + 20)
    jobs.kill_evicted()
    running.append(jobs.start_torch("bbbbb", second, "1"))
    node.start("0.1.1", "gp-bpf-bbbbb", "8b2c3d4e-439d-484b-8e53-2968bc15824f", "e" * 64)
    cluster.do(delete=f"Pod/{NAMESPACE}/{jobs.evicted}")
    until("the end of torch", lambda: running[-1].poll() is not None)
    stop(folder, "jax")
    stop(folder, "opencl")
    statuses = [status] + [job.wait(CONTROL_S) for job in running]
    page = until("the end of all jobs", lambda: one_story.all_over(scrape(node)))
    over = now()
    until("points of after that", lambda: one_story.written_since(gcm, over), 60)
    told = one_story.Told(page=page, points=json.loads(get(gcm + "/control/series")),
                          refused=one_story.refused(lines(folder + "/gcm.journal")),
                          reports={job: json.loads(node.inside("report", job, "--json")) for job in JOBS},
                          lines=lines(node.node + "/var/lib/gp-bpf/lines.json"), statuses=statuses)
    cluster.do(delete="DaemonSet/gp-bpf/gp-bpf")
    told.statuses.append(node.end())
    told.left = os.listdir("/sys/fs/bpf")
    return told


def not_told(folder):
    """TAP, of a story that did not come to its end, and what gp-bpf said."""
    print("not ok 1 - the story comes to its end\n1..1\n# " + traceback.format_exc().strip().replace("\n", "\n# "))
    for name in sorted(name for name in os.listdir(folder) if name.startswith("gp-bpf-") and name.endswith(".out")):
        print(f"# {name}: " + read(f"{folder}/{name}").replace("\n", "\n#     "))
    return 1


class Ended(BaseException):
    """By a signal; no handler of errors takes it for one."""


def enough(signum, _):
    raise Ended(signal.Signals(signum).name)


def main():
    if os.geteuid() != 0:
        skip("probes and containers need root")
    for program in ("crun", "curl", "ip", "unshare", "setpriv"):
        if not shutil.which(program):
            skip(f"{program} is missing (make deps)")
    if not importlib.util.find_spec("yaml"):
        skip(f"{sys.executable} has no yaml (make deps)")
    torch, jax = find("torch.sh"), find("framework.sh", "jax")
    if not torch or not jax:
        skip("no current torch, or no JAX (make check ALL=1 installs them)")
    inside_own_namespaces()
    signal.signal(signal.SIGTERM, enough)
    signal.signal(signal.SIGALRM, enough)
    signal.alarm(LIMIT_S)
    folder = os.environ.get("KEEP") or tempfile.mkdtemp()
    machine = Machine(folder)
    try:
        told = story(machine, folder, torch, jax)
        failed = one_story.compare(folder, told)
    except (Exception, Ended):
        failed = not_told(folder)
    finally:
        signal.alarm(0)
        machine.end()
        if not os.environ.get("KEEP"):
            shutil.rmtree(folder)
    sys.exit(failed)


if __name__ == "__main__":
    main()

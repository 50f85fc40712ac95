# SPDX-License-Identifier: Apache-2.0
"""What was told of the jobs of daemonset.py, by four mouths, and whether it is one story, and that of the jobs' own journals."""
import dataclasses
import json
import os
import re
import subprocess
import typing
import urllib.request
import uuid

NODE, NAMESPACE, JOBS = "gke-node-1", "story", ("llama", "sweep", "solver")
JOBSET_UID = "5a0c3d3e-8a51-4a3c-9d2b-0d3f8a1b2c3d"
JOB_UID = "ab2c3d4e-439d-484b-8e53-2968bc15824f"
POD_UID = str(uuid.uuid4())


class Sample(typing.NamedTuple):
    name: str
    labels: dict
    value: float


def metrics(page):
    """Text of Prometheus, 0.0.4."""
    rows = []
    for line in page.splitlines():
        found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if found and not line.startswith("#"):
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found.group(2) or ""))
            rows.append(Sample(found.group(1), labels, float(found.group(3))))
    return rows


@dataclasses.dataclass
class Told:
    page: list      # the last scrape
    points: list    # what Cloud Monitoring holds
    refused: list   # what it refused
    reports: dict   # of the store, by job
    lines: list     # of JSON
    statuses: list  # of gp-bpf, of the jobs, of gp-bpf
    left: list = ()  # in the kernel


def value(page, name, **labels):
    """Of that sample; None where there is none."""
    found = [row.value for row in page if row.name == name and labels.items() <= row.labels.items()]
    assert len(found) < 2, f"{name}{labels}: {len(found)} samples"
    return found[0] if found else None


def all_over(page):
    over = all(value(page, "gpbpf_job_state", job_id=job, state="ended") == 1 for job in JOBS)
    return page if over else None


def written_since(gcm, when):
    with urllib.request.urlopen(gcm + "/control/series", timeout=10) as reply:
        series = json.load(reply)
    ends = [s["points"][0]["interval"]["endTime"] for s in series if s["metric"]["type"].endswith("job/step_count")]
    return len(ends) == len(JOBS) and min(ends) > when


def refused(journal):
    """But for a point that it took from a write which ended too early, and which is sent again (rules 15, 16)."""
    return [(r["rule"], r.get("message")) for r in journal if r["rule"] not in (0, None, 15, 16)]


def point(points, kind, **labels):
    """The newest value of gp-bpf's own type; None where there is none."""
    found = [s["points"][0]["value"] for s in points if s["metric"]["type"] == "custom.googleapis.com/gp_bpf/" + kind
             and labels.items() <= s["metric"].get("labels", {}).items()]
    assert len(found) < 2, f"{kind}{labels}: {len(found)} series"
    return float(next(iter(found[0].values()))) if found else None


def same(what, **told):
    """Each of those who tell it tells the same, to a microsecond where it is time."""
    values = list(told.values())
    agree = None not in values and all(abs(v - values[0]) < 1e-6 for v in values)
    return [] if agree else [f"{what}: " + ", ".join(f"{who} says {v}" for who, v in told.items())]


def steps_of(lines, job):
    """Of each process of a job (rank, pid), in order: its steps as (number, end)."""
    runs = {}
    for e in lines:
        if e["type"] == "step" and e["job"] == job:
            runs.setdefault((e["rank"], e["pid"]), []).append((e["step"], e["end_ns"]))
    return runs


# ---- who tells what --------------------------------------------------------------------------------


def agree(told, job):
    """The last scrape, Cloud Monitoring, the report of the store: the same figures."""
    report, page, points = told.reports[job], told.page, told.points
    # Each of the job's own: metric, type of Cloud Monitoring, the report's.
    rows = [("gpbpf_job_step_number", "job/step_number", report["max_step"]),
            (None, "job/step_count", report["steps_in_all"]),
            ("gpbpf_job_elapsed_seconds", "job/elapsed_time", report["elapsed_ns"] / 1e9),
            ("gpbpf_job_wasted_seconds_total", "job/wasted_time", report["buckets"]["WASTED_PROGRESS_FROM_DISRUPTION"] / 1e9),
            ("gpbpf_job_runs_total", None, report["attempts"]),
            ("gpbpf_job_goodput_ratio", None, report["goodput_ratio"]),
            (None, "job/goodput_time", report["buckets"]["GOODPUT"] / 1e9)]
    faults = []
    for metric, kind, of_report in rows:
        tellers = {"the report": of_report}
        if metric:
            tellers["/metrics"] = value(page, metric, job_id=job)
        if kind:
            tellers["Cloud Monitoring"] = point(points, kind, job_id=job)
        faults += same(f"{job}: {metric or kind}", **tellers)
    faults += same(f"{job}: productive", metrics=value(page, "gpbpf_job_productive_seconds_total", job_id=job),
                   points=point(points, "job/productive_time", job_id=job))
    for bucket, ns in report["buckets"].items():
        tellers = {"metrics": value(page, "gpbpf_job_time_seconds", job_id=job, bucket=bucket) or 0, "report": ns / 1e9}
        if bucket != "GOODPUT":
            tellers["points"] = point(points, "job/badput_time", job_id=job, bucket=bucket) or 0
        faults += same(f"{job}: {bucket}", **tellers)
    if sum(report["buckets"].values()) != report["elapsed_ns"]:
        faults.append(f"{job}: buckets do not add up to what elapsed")
    for row in page:
        if row.name == "gpbpf_steps_total" and row.labels["job_id"] == job:
            rank = {"rank": row.labels["rank"]} if "rank" in row.labels else {}
            last = [steps for (r, _), steps in steps_of(told.lines, job).items() if str(r) == rank.get("rank", "None")][-1]
            faults += same(f"{job}: steps of {rank}", metrics=row.value, lines=len(last),
                           points=point(points, "rank/step_count", job_id=job, **rank))
    return faults


def named(told, job, uid, ranks, **names):
    """As the cluster names it."""
    faults = [] if value(told.page, "gpbpf_job_info", job_id=job, uid=uid) else [f"{job}: no job of uid {uid}"]
    there = [row.labels for row in told.page if row.name == "gpbpf_rank_info" and row.labels["job_id"] == job]
    if [labels.get("rank") for labels in there] != ranks or not all(names.items() <= labels.items() for labels in there):
        faults.append(f"{job}: {there}, truly {ranks} of {names}")
    without = [e for e in told.lines if e["type"] == "rank" and e.get("job") == job and not e.get("pod")]
    if without:
        faults.append(f"{job}: {len(without)} lines of its ranks have no pod, as {without[0]}")
    return faults


def disrupted(told, job, cause, count):
    report = told.reports[job]
    faults = same(f"{job}: disruptions", metrics=value(told.page, "gpbpf_job_disruptions_total", job_id=job, cause=cause),
                  points=point(told.points, "job/disruption_count", job_id=job, cause=cause), report=report["disruptions_in_all"],
                  truth=count)
    if [d["cause"] for d in report["disruptions"]] != [cause] * count:
        faults.append(f"{job}: the report's causes are {[d['cause'] for d in report['disruptions']]}, truly {cause}")
    return faults


# ---- and the jobs' own journals --------------------------------------------------------------------


def journal(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def torch_steps(folder, told):
    """Of each rank and run the numbers, none lost and none twice."""
    faults, runs = [], steps_of(told.lines, "llama")
    for rank in (0, 1):
        truth = {}
        for e in journal(f"{folder}/torch.{rank}"):
            if e["what"] == "step":
                truth.setdefault(e["pid"], []).append(e["step"])
        seen = {pid: [n for n, _ in steps] for (r, pid), steps in runs.items() if r == rank}
        if seen != truth:
            short = [{pid: (len(n), n[0], n[-1]) for pid, n in what.items()} for what in (seen, truth)]
            faults.append(f"llama: steps of rank {rank}: {short[0]}, truly {short[1]}")
    return faults


def program_steps(folder, told, job, late_ns):
    """One process that was there before its probes: each step since the first that was seen, and the time of all of them.
    late_ns: that one may be so late after the first of all."""
    truth = [e["end"] for e in journal(f"{folder}/{job[0]}.truth") if e["type"] == "step"]
    (steps,) = steps_of(told.lines, job[1]).values()
    since = [end for end in truth if end >= steps[0][1] - 10**6]
    faults = []
    if [n for n, _ in steps] != list(range(1, len(since) + 1)):
        faults.append(f"{job[1]}: {len(steps)} steps, the last {steps[-1][0]}; truly {len(since)}")
    if steps[0][1] - truth[0] > late_ns:
        faults.append(f"{job[1]}: the first step is {(steps[0][1] - truth[0]) / 1e9:.3f} s late")
    productive, true = value(told.page, "gpbpf_job_productive_seconds_total", job_id=job[1]), (since[-1] - since[0]) / 1e9
    print(f"# {job[1]}: {len(steps)} of {len(truth)} steps, productive {productive:.3f} s of {true:.3f}")
    if abs(productive - true) > max(0.05, true / 50):
        faults.append(f"{job[1]}: productive {productive} s, truly {true}")
    return faults


def torch_ledger(folder, told):
    with open(folder + "/llama.report", "w", encoding="utf-8") as f:
        f.write(json.dumps(told.reports["llama"]) + "\n")
    tool = os.path.join(os.path.dirname(__file__), "../tools/ledger_truth.py")
    ran = subprocess.run([tool, folder + "/torch.0", folder + "/llama.report", "--causes", "evicted", "--fell", folder + "/torch.fell"],
                         capture_output=True, text=True, check=False)
    print("# " + ran.stdout.strip().replace("\n", "\n# "))
    return [line for line in ran.stdout.splitlines() if line.startswith("wrong")] + ran.stderr.splitlines()


def whole(told):
    """Two versions of gp-bpf, one sequence of lines, and nothing left in the kernel."""
    faults = []
    if [e["seq"] for e in told.lines] != list(range(1, len(told.lines) + 1)):
        faults.append("lines are not numbered one after the other")
    kinds, lost = [e["type"] for e in told.lines], [e for e in told.lines if e["type"] == "loss"]
    print("".join(f"# lost: {e['count']} of {e['source']}\n" for e in lost), end="")
    # Of births and deaths it may be other processes of a busy machine.
    if kinds.count("start") != 1 or kinds.count("end") > 1 or any(e["source"] != "ring_life" for e in lost):
        faults.append(f"{kinds.count('start')} starts, {kinds.count('end')} ends, {len(lost)} losses")
    if value(told.page, "gpbpf_build_info", version="0.1.1") != 1:
        faults.append("the last scrape is not of the later version")
    return faults


def compare(folder, told):
    """TAP; 0 when all is well."""
    checks = [("gp-bpf, the jobs and gp-bpf again end in order", lambda: [f"{told.statuses}"] if any(told.statuses) else []),
              ("nothing is left in the kernel", lambda: [name for name in told.left if "gp-bpf" in name]),
              ("one sequence of lines, without a loss, by two versions", lambda: whole(told)),
              ("Cloud Monitoring refused nothing", lambda: told.refused),
              ("torch is named by its JobSet and the pod that was made anew", lambda: named(
                  told, "llama", JOBSET_UID, ["0", "1"], namespace=NAMESPACE, pod="llama-workers-0-0-bbbbb", container="train", node=NODE,
                  world_size="2")),
              ("JAX is named by its Job", lambda: named(told, "sweep", JOB_UID, ["0"], namespace=NAMESPACE, pod="sweep-0-abcde",
                                                        container="train", node=NODE)),
              ("OpenCL is named by its pod", lambda: named(told, "solver", POD_UID, [None], namespace=NAMESPACE, pod="solver",
                                                           container="train", node=NODE)),
              ("one disruption, by the eviction", lambda: disrupted(told, "llama", "evicted", 1)),
              ("torch: each step of each rank and run, none twice", lambda: torch_steps(folder, told)),
              ("torch: where the time went, by its journal", lambda: torch_ledger(folder, told)),
              ("JAX: each step, by its journal", lambda: program_steps(folder, told, ("jax", "sweep"), 0)),
              ("OpenCL: each step since it was probed", lambda: program_steps(folder, told, ("opencl", "solver"), 10**9))]
    checks += [(f"{job}: /metrics, Cloud Monitoring and the report tell the same", lambda job=job: agree(told, job)) for job in JOBS]
    failed = 0
    for i, (what, check) in enumerate(checks, 1):
        try:
            faults = check()
        except Exception as e:  # what is missing is told as what is wrong
            faults = [repr(e)]
        print(f"{'not ' if faults else ''}ok {i} - {what}")
        for fault in faults:
            print(f"# {fault}")
        failed |= bool(faults)
    print(f"1..{len(checks)}")
    return int(failed)

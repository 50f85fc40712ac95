# SPDX-License-Identifier: Apache-2.0
"""Random logs of jobs that go wrong in every way known, and random questions about them."""

T0 = 1735725600.0


class RandomLog:
    def __init__(self, rng):
        self.rng = rng
        self.grid = rng.choice([1.0, 0.5, 0.001, 0.000001, 0.000001])
        self.now = T0
        self.skew = 0.0
        self.records = []
        self.step_s = rng.choice([0.2, 0.9, 1.0, 2.0, 2.0, 7.0])
        self.jitter = rng.choice([0, 0, 0.01, 0.3])
        self.elastic = self.chance(0.3)
        self.customs = self.chance(0.5)
        self.loads = self.chance(0.3)
        self.saves = rng.choice([0, 0, 3, 10])
        self.stride = rng.choice([1] * 9 + [3])
        self.nulls = self.chance(0.04)
        self.types = rng.sample(["eval", "Eval", "sdc_check", "x", "Profile"], 3)

    def chance(self, p):
        return self.rng.random() < p

    def pass_time(self, s):
        self.now = round(self.now + max(self.grid, round(s / self.grid) * self.grid), 6)

    def put(self, **fields):
        at = float(round(self.now + self.skew, 6))
        record = {"job_name": "job"}
        record.update({key: at if value is None else value for key, value in fields.items()})
        self.records.append((self.now, record))

    def phase(self, name, s):
        if self.chance(0.95):
            self.put(**{f"{name}_start_time": None})
        self.pass_time(s)
        if self.chance(0.95):
            self.put(**{f"{name}_end_time": None})

    def boot(self):
        if self.chance(0.92):
            self.put(job_start_time=None)
        self.pass_time(self.rng.uniform(0, 3))
        if self.elastic and self.chance(0.5):
            self.put(elastic_reinit_start_time=None)
        if self.chance(0.8):
            self.phase("tpu_init", self.rng.uniform(1, 20))
        if self.chance(0.8):
            self.phase("training_prep", self.rng.uniform(1, 20))
        if self.elastic and self.chance(0.7):
            self.put(elastic_reinit_end_time=None)
        if self.chance(0.4):
            self.checkpoint(self.rng.choice(["restore", "emergency_restore"]), self.rng.randrange(20))
        if self.chance(0.8):
            self.phase("data_loading", self.rng.uniform(0.1, 5))

    def checkpoint(self, kind, step):
        took = round(self.rng.uniform(0.1, 4), 6)
        if self.nulls and self.chance(0.3):
            took = None
        directory = self.rng.choice(["gs://bucket/checkpoints", "/local/checkpoints"])
        fields = {"step": step, "event_type": kind, "directory": directory}
        if kind == "save":
            for part in ("wait_for_prev", "checkpointer_blocking", "get_old_steps", "checkpoint_manager_blocking"):
                fields.update({f"{part}_start_time": None, f"{part}_duration_secs": took})
        else:
            for part in ("checkpointer", "checkpoint_manager"):
                fields.update({f"{part}_start_time": None, f"{part}_duration_secs": took})
        self.put(**fields)
        if self.chance(0.3):
            self.pass_time(took or 0)

    def custom(self, end=None):
        kind = self.rng.choice(self.types)
        key = "end" if (self.chance(0.5) if end is None else end) else "start"
        self.put(**{"custom_badput_event_type": kind, f"custom_badput_event_{key}_time": None})

    def slices(self):
        total = self.rng.choice([0, 4, 8])
        self.put(active_slices=self.rng.randrange(9), total_slices=total, available_slices=self.rng.randrange(9),
                 elastic_slice_counts_timestamp=None)

    def wait(self):
        kind = self.rng.choice(["elastic_slice_down", "elastic_scale_up", "other"])
        if self.chance(0.9):
            self.put(elastic_wait_event_type=kind, elastic_wait_start_time=None)
        self.pass_time(self.rng.uniform(0, 20))
        if self.chance(0.9):
            self.put(elastic_wait_event_type=kind, elastic_wait_end_time=None)

    def step(self, number):
        took = self.step_s * (1 + self.jitter * self.rng.uniform(-1, 1))
        if self.chance(0.03):
            took *= self.rng.choice([5, 20])
        if number % self.stride == 0 and self.chance(0.99):
            self.put(step_count=number, step_start_time=None)
        parts = self.rng.randrange(1, 5) if self.customs and self.chance(0.3) else 1
        for n in range(parts):
            self.pass_time(took / parts)
            if n + 1 < parts or (self.customs and self.chance(0.05)):
                self.custom(end=None if self.chance(0.3) else n % 2 == 1)
        if self.loads and self.chance(0.5):
            self.phase("data_loading", took / 4)
        if self.saves and number % self.saves == 0:
            for _ in range(self.rng.choice([1, 1, 2])):
                self.checkpoint("save", number)
        if self.elastic and self.chance(0.1):
            self.rng.choice([self.slices, self.wait])()

    def run(self, first):
        self.skew = self.rng.choice([0, 0, 0, 0, 1]) * round(self.rng.uniform(-60, 60), 6)
        self.boot()
        if self.chance(0.05):
            return first
        last = first + self.rng.choice([0, 1, 2, 5, 20, 40] * 8 + [150, 150, 1200])
        for number in range(first, last + 1):
            self.step(number)
        if self.chance(0.12):
            self.put(job_end_time=None)
        return last

    def resume(self, last):
        return max(0, self.rng.choice([last + 1, last, last - 1, last - self.rng.randrange(1, 30), 0, 0, last + 4,
                                       last - 3, last - 5]))

    def disturb(self):
        rng = self.rng
        for _ in range(rng.choice([0, 0, 0, 1, 3])):
            at = rng.randrange(len(self.records))
            self.records.insert(min(len(self.records), at + rng.randrange(3)), self.records[at])
        for _ in range(rng.choice([0, 0, 0, 1, 3])):
            at = rng.randrange(len(self.records))
            to = min(len(self.records) - 1, at + rng.randrange(1, 4))
            self.records[at], self.records[to] = self.records[to], self.records[at]

    def strangers(self):
        """Records of another job among them, and what is no record."""
        for _ in range(self.rng.choice([0, 0, 0, 5, 30])):
            at = self.rng.randrange(len(self.records) + 1)
            now = self.records[at - 1][0] if at else T0
            other = {"job_name": "zz", "step_count": self.rng.randrange(30), "step_start_time": float(now)}
            self.records.insert(at, (now, self.rng.choice([other, {"job_name": "zz", "job_start_time": float(now)}])))

    def make(self):
        last = self.run(self.rng.choice([0, 0, 0, 1, 10]))
        for _ in range(self.rng.choice([0, 1, 1, 2, 4])):
            self.pass_time(self.rng.choice([1, 30, 300]) * self.rng.random())
            last = self.run(self.resume(last))
        if self.chance(0.3):
            self.disturb()
        if self.records and self.chance(0.2):
            self.strangers()
        return self.written()

    def written(self):
        """Write times of their own, in order of the lines, or none."""
        if self.chance(0.5):
            return [record for _, record in self.records]
        out, at, late = [], 0.0, self.rng.choice([0, 0, 2, 90])
        for now, record in self.records:
            at = max(at, round(now + late * self.rng.random(), 6))
            out.append({**record, "_ts": at})
        if self.chance(0.2):  # the lines are not in their order
            self.rng.shuffle(out)
        return out


def write_time(record):
    return record["_ts"] if "_ts" in record else next(v for k, v in record.items() if "time" in k)


def spans(rng, low, high, count):
    out = []
    for _ in range(count):
        a, b = sorted(round(rng.uniform(low, high), rng.choice([0, 6])) for _ in range(2))
        out.append([a, b])
    return out


def questions(rng, made):
    times = [write_time(record) for record in made]
    low, high = min(times), max(times)
    args = {"query_time": round(rng.choice([high, high + 10, high + 1000 * rng.random(),
                                            rng.uniform(low, high)]), 6)}
    if rng.random() < 0.5:
        args["windows"] = spans(rng, low - 20, high + 20, rng.choice([1, 2, 3, 4, 4, 60]))
    if rng.random() < 0.4:
        args["exclude"] = spans(rng, low - 20, high + 20, rng.randrange(1, 5))
    if rng.random() < 0.5 and times == sorted(times):
        args["sequence"] = [round(rng.uniform(low - 5, high + 20), 6) for _ in range(rng.randrange(1, 8))]
        if rng.random() < 0.8:
            args["sequence"].sort()
    if rng.random() < 0.2:
        args["ideal"] = rng.choice([1.0, 2.0, 0.5])
    if rng.random() < 0.4:
        args["calculator"] = "elastic"
    return args


def log_and_questions(rng):
    while True:
        made = RandomLog(rng).make()
        if made:
            return made, questions(rng, made)

/* SPDX-License-Identifier: Apache-2.0 */
/* json_schema.c - the JSON Schema of the lines that --export json writes. */
#include "userspace/export/export.h"

/* Quotes one line of the schema: JSON consists of C tokens, which the preprocessor can quote. */
#define LINE(...) #__VA_ARGS__ "\n"

/* clang-format off */
const char export_json_schema[] =
LINE({"$schema": "https://json-schema.org/draft/2020-12/schema",)
LINE("title": "gp-bpf JSON lines",)
LINE("description": "One object a line. Times of CLOCK_MONOTONIC and durations are integer nanoseconds (_ns). null: unknown. Fields are added, never renamed.",)
LINE("type": "object",)
LINE("required": ["type", "seq", "time", "mono_ns"],)
LINE("oneOf": [{"$ref": "#/$defs/start"}, {"$ref": "#/$defs/end"}, {"$ref": "#/$defs/rank"}, {"$ref": "#/$defs/step"},
	{"$ref": "#/$defs/checkpoint"}, {"$ref": "#/$defs/range"}, {"$ref": "#/$defs/disruption"},
	{"$ref": "#/$defs/ledger"}, {"$ref": "#/$defs/health"}, {"$ref": "#/$defs/loss"}, {"$ref": "#/$defs/monitor"},
	{"$ref": "#/$defs/probe"}],)
LINE("$defs": {)
LINE("seq": {"type": "integer", "minimum": 1, "description": "1, 2, 3...: one more than in the line before; no number is used twice"},)
LINE("time": {"type": ["string", "null"], "description": "RFC 3339, UTC, nanoseconds"},)
LINE("ns": {"type": "integer", "minimum": 0},)
LINE("ns_or_null": {"type": ["integer", "null"], "minimum": 0},)
LINE("count": {"type": "integer", "minimum": 0},)
LINE("count_or_null": {"type": ["integer", "null"], "minimum": 0},)
LINE("text": {"type": "string"},)
LINE("text_or_null": {"type": ["string", "null"]},)
LINE("job": {"type": ["string", "null"], "description": "the job's key"},)
LINE("tier": {"enum": ["A", "B", null], "description": "how steps are found: A, by what the framework announces; B, by a unit of execution that stands for a step"},)
LINE("boundary": {"enum": ["update_exit", "zero_grad", "backward", "reducer", "update_op", "execute", "completion", "sync", "probe", null], "description": "the event that ends a step; probe: the probe of --marker"},)
LINE("series": {"enum": ["host", "sync", "rate", null], "description": "what step times measure: host, from marker to marker; sync, until the device was done; rate, the queueing of work, of which only the mean is meaningful"},)
LINE("unit": {"enum": ["step", "execution", "cycle", null], "description": "what is counted: only steps are training; executions of a program that nothing shows to train, and cycles of blocking waits, have no step lines"},)
LINE("examined": {"type": "object", "description": "of a fail_slow, recovered or hang: what the training thread waited for in some seconds of it, and which processes ran while it could; absent: not examined",)
LINE("required": ["from_ns", "to_ns", "tid", "cost_ns", "runnable_ns", "block_ns", "asleep_ns", "waits", "instead", "devices"],)
LINE("properties": {"from_ns": {"$ref": "#/$defs/ns"}, "to_ns": {"$ref": "#/$defs/ns"}, "tid": {"$ref": "#/$defs/count"},
	"cost_ns": {"type": "integer", "minimum": 0, "description": "time that the examination took on the busiest CPU"},
	"runnable_ns": {"type": "integer", "minimum": 0, "description": "time in which the thread was runnable, but not on a CPU"},
	"block_ns": {"type": "integer", "minimum": 0, "description": "the part of asleep_ns in which the thread waited for block I/O"},
	"asleep_ns": {"type": "object", "additionalProperties": {"$ref": "#/$defs/ns"}, "description": "time in which the thread slept, by what it waited for: lock, sleep, events, pipe, socket, network, file, page, device, child, other"},
	"waits": {"type": "array", "description": "the longest of these, and their target: a path, an address; slow: sleeps of at least 10 ms", "items": {"type": "object", "required": ["wait", "target", "ns", "count", "slow", "worst_ns"],
		"properties": {"wait": {"$ref": "#/$defs/text"}, "target": {"$ref": "#/$defs/text_or_null"}, "ns": {"$ref": "#/$defs/ns"}, "count": {"$ref": "#/$defs/count"}, "slow": {"$ref": "#/$defs/count"}, "worst_ns": {"$ref": "#/$defs/ns"}}}},
	"instead": {"type": "array", "description": "processes that ran on the thread's CPU while it was runnable; pid 0: none did", "items": {"type": "object", "required": ["pid", "comm", "control_group", "job", "ns"],
		"properties": {"pid": {"$ref": "#/$defs/count"}, "comm": {"$ref": "#/$defs/text_or_null"}, "control_group": {"type": ["string", "null"], "description": "the end of its path"}, "job": {"type": ["string", "null"], "description": "the job that it trains for; null: none that is watched"}, "ns": {"$ref": "#/$defs/ns"}}}},
	"devices": {"type": "array", "description": "block devices of the machine; slow: requests of at least 10 ms", "items": {"type": "object", "required": ["name", "count", "slow", "mean_ns", "worst_ns"],
		"properties": {"name": {"$ref": "#/$defs/text"}, "count": {"$ref": "#/$defs/count"}, "slow": {"$ref": "#/$defs/count"}, "mean_ns": {"$ref": "#/$defs/ns"}, "worst_ns": {"$ref": "#/$defs/ns"}}}}}},)
LINE("start": {"type": "object", "description": "the first line",)
LINE("required": ["type", "seq", "time", "mono_ns", "schema", "version", "kernel", "command"],)
LINE("properties": {"type": {"const": "start"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "schema": {"const": 1}, "version": {"$ref": "#/$defs/text"},
	"kernel": {"$ref": "#/$defs/text"}, "command": {"$ref": "#/$defs/text"}}},)
LINE("end": {"type": "object", "description": "the last line of a run that ended regularly",)
LINE("required": ["type", "seq", "time", "mono_ns", "reason", "status", "losses", "overhead"],)
LINE("properties": {"type": {"const": "end"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "reason": {"enum": ["targets_gone", "user", "time", "error", null]},
	"status": {"type": ["integer", "null"], "description": "status of the command, as wait(2) reports it"},
	"losses": {"type": ["object", "null"], "description": "records by cause; {} when none was lost", "additionalProperties": {"$ref": "#/$defs/count"}},
	"noted": {"type": "object", "description": "records that were dropped without a loss of measured data: because of bounds, or returns whose call was not seen", "additionalProperties": {"$ref": "#/$defs/count"}},
	"overhead": {"type": ["object", "null"], "required": ["hits", "cost_ns", "estimated"],
		"properties": {"hits": {"$ref": "#/$defs/count"}, "cost_ns": {"$ref": "#/$defs/ns"}, "estimated": {"type": "boolean"}}},
	"events": {"$ref": "#/$defs/count"}}},)
LINE("rank": {"type": "object", "description": "new facts about a process, or about one of its loops",)
LINE("required": ["type", "seq", "time", "mono_ns", "job", "rank", "pid", "state", "tier", "marker", "boundary", "unit", "series", "ratios", "confidence", "reason", "loop", "numbering", "world_size"],)
LINE("properties": {"type": {"const": "rank"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count"},
	"state": {"enum": ["idle", "starting", "learning", "locked", "suspect", "ended"]},
	"tier": {"$ref": "#/$defs/tier"}, "marker": {"$ref": "#/$defs/text_or_null"}, "boundary": {"$ref": "#/$defs/boundary"},
	"unit": {"$ref": "#/$defs/unit"}, "series": {"$ref": "#/$defs/series"},
	"ratios": {"type": ["string", "null"], "description": "other markers per step, as name:count"},
	"confidence": {"type": "number", "minimum": 0, "maximum": 1}, "reason": {"$ref": "#/$defs/text_or_null"},
	"loop": {"$ref": "#/$defs/count"}, "loops": {"$ref": "#/$defs/count"},
	"numbering": {"enum": ["process_start", "since_attach", "undercounted"]}, "steps": {"$ref": "#/$defs/count"},
	"updates": {"$ref": "#/$defs/count"}, "period": {"$ref": "#/$defs/count_or_null"},
	"programs": {"type": "object", "description": "programs of the process for its device so far: compiled, or taken from a cache of compiled ones", "required": ["compiled", "cached"], "additionalProperties": false,
		"properties": {"compiled": {"$ref": "#/$defs/count"}, "cached": {"$ref": "#/$defs/count"}}},
	"world_size": {"$ref": "#/$defs/count_or_null"},
	"namespace": {"$ref": "#/$defs/text_or_null"}, "pod": {"$ref": "#/$defs/text_or_null"},
	"container": {"type": ["string", "null"], "description": "name of the container, else the beginning of its id"},
	"node": {"$ref": "#/$defs/text_or_null"},
	"attempt": {"type": ["integer", "null"], "minimum": 0, "description": "number of the attempt at the job, as its scheduler counts"},
	"job_uid": {"type": ["string", "null"], "description": "jobs of one name and different uids are different jobs"},
	"job_from": {"enum": ["option", "jobset", "controller", "slurm", "torchelastic", "pod", "cgroup", null], "description": "source of the job's name; null: none"},
	"scheduling": {"type": "object", "description": "nanoseconds from the creation of the job's first pod to its first process, with the keys of a disruption's scheduling; not in the ledger; empty: unknown", "additionalProperties": {"$ref": "#/$defs/ns"}}}},)
LINE("step": {"type": "object", "description": "a finished step; numbers count from 1 in each loop and are never rewritten",)
LINE("required": ["type", "seq", "time", "mono_ns", "job", "rank", "pid", "loop", "step", "run_step", "start_ns", "end_ns", "duration_ns", "tier", "boundary", "series", "micro_batches", "updates", "flags", "phases"],)
LINE("properties": {"type": {"const": "step"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count"},
	"loop": {"$ref": "#/$defs/count"}, "step": {"type": "integer", "minimum": 0, "description": "after a restart numbers continue after the checkpoint; of a skipped update: the number of the step before it, or 0"},
	"run_step": {"type": "integer", "minimum": 0, "description": "within the run"}, "start_ns": {"$ref": "#/$defs/ns"},
	"end_ns": {"$ref": "#/$defs/ns"}, "duration_ns": {"$ref": "#/$defs/ns"}, "tier": {"$ref": "#/$defs/tier"},
	"boundary": {"$ref": "#/$defs/boundary"}, "series": {"$ref": "#/$defs/series"},
	"micro_batches": {"$ref": "#/$defs/count"}, "updates": {"$ref": "#/$defs/count"},
	"flags": {"type": "array", "items": {"enum": ["tainted", "imputed", "skipped_update", "recompiled", "ambiguous", "estimated", "hung", "undercounted"]}},
	"phases": {"type": "object", "description": "host time of the thread that steps, known phases only; they do not overlap, except host: the time neither blocked (data, sync, collective, transfer) nor compiling", "additionalProperties": {"$ref": "#/$defs/ns"}},
	"ranges": {"type": "object", "description": "time in the job's own named ranges, each without the ranges inside; 16 names of a loop, then other ranges; absent: none, or unknown", "additionalProperties": {"$ref": "#/$defs/ns"}}}},)
LINE("checkpoint": {"type": "object",)
LINE("required": ["type", "seq", "time", "mono_ns", "job", "rank", "pid", "op", "mode", "start_ns", "end_ns", "duration_ns", "bytes", "files", "step", "file"],)
LINE("properties": {"type": {"const": "checkpoint"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count"},
	"op": {"enum": ["save", "restore"]}, "mode": {"enum": ["sync", "async", null]}, "start_ns": {"$ref": "#/$defs/ns"},
	"end_ns": {"$ref": "#/$defs/ns_or_null"}, "duration_ns": {"$ref": "#/$defs/ns_or_null"},
	"bytes": {"$ref": "#/$defs/count_or_null"}, "files": {"$ref": "#/$defs/count"},
	"step": {"type": ["integer", "null"], "minimum": 1, "description": "the last step that the checkpoint covers; of a restore, the last step done before the restore"},
	"run_step": {"type": ["integer", "null"], "minimum": 1, "description": "step, but numbered within the run"},
	"file": {"$ref": "#/$defs/text_or_null"},
	"estimated": {"type": "boolean", "description": "step is deduced, because a thread or process that does not train wrote the checkpoint"},
	"saved_step": {"type": ["integer", "null"], "minimum": 1, "description": "of a restore: the step after which the job wrote the file"},
	"match": {"enum": ["inode", "path", "copy", "changed", "size", null], "description": "how saved_step is known"},
	"confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1}}},)
LINE("range": {"type": "object", "description": "a span with its own bucket: an evaluation, a range of --range, or time without observation (UNOBSERVED)",)
LINE("required": ["type", "seq", "time", "mono_ns", "job", "rank", "pid", "name", "bucket", "async", "start_ns", "end_ns", "duration_ns"],)
LINE("properties": {"type": {"const": "range"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count"},
	"name": {"$ref": "#/$defs/text"}, "bucket": {"$ref": "#/$defs/text"},
	"async": {"type": "boolean", "description": "the range is on a thread that does not train, and in no bucket"}, "start_ns": {"$ref": "#/$defs/ns"},
	"end_ns": {"$ref": "#/$defs/ns"}, "duration_ns": {"$ref": "#/$defs/ns"}}},)
LINE("disruption": {"type": "object", "description": "an interruption of a job: a line at its begin, and one (over) when a step follows",)
LINE("required": ["type", "seq", "time", "mono_ns", "job", "rank", "pid", "disruption", "over", "cause", "graceful", "exit_code", "signal", "sender", "sender_comm", "at", "at_ns", "step", "starts", "resumed", "resumed_step", "wasted_ns", "recovery_ns", "down_ns", "recovery", "estimated", "how"],)
LINE("properties": {"type": {"const": "disruption"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count_or_null"},
	"disruption": {"type": "integer", "minimum": 1, "description": "number of the disruption in the job; rank and pid are those of the first failure, null if the failure was on another node"},
	"over": {"type": "boolean"}, "cause": {"enum": ["killed", "crashed", "exit", "oom", "exec", "asked", "unseen", "device_error", "communicator_error", "out_of_memory", "evicted", "preempted", "maintenance", "deleted", "node"]},
	"fault": {"type": ["string", "null"], "description": "name of the error of a device or communicator, such as CUDA_ERROR_ILLEGAL_ADDRESS or Xid 79"},
	"graceful": {"type": "boolean", "description": "the process ended cleanly after a signal that asks it to end"},
	"exit_code": {"$ref": "#/$defs/count_or_null"},
	"signal": {"$ref": "#/$defs/count_or_null"}, "sender": {"$ref": "#/$defs/count_or_null"},
	"sender_comm": {"$ref": "#/$defs/text_or_null"}, "at": {"type": ["string", "null"], "description": "at_ns in UTC, RFC 3339"}, "at_ns": {"$ref": "#/$defs/ns"}, "step": {"$ref": "#/$defs/count_or_null"},
	"starts": {"type": "integer", "minimum": 0, "description": "runs begun since the disruption; 0: the job continued in its old processes"},
	"resumed": {"type": ["string", "null"], "description": "start of the first step after the disruption, RFC 3339"}, "resumed_step": {"$ref": "#/$defs/count_or_null"},
	"wasted_ns": {"$ref": "#/$defs/ns_or_null"}, "recovery_ns": {"$ref": "#/$defs/ns_or_null"}, "down_ns": {"$ref": "#/$defs/ns_or_null"},
	"recovery": {"type": "object", "description": "recovery_ns by bucket", "additionalProperties": {"$ref": "#/$defs/ns"}},
	"scheduling": {"type": "object", "description": "nanoseconds from at_ns to the next run's first process, by part: until the pod of this process was created (create), had a node (schedule), had its images and init containers (image), and the process began (start); empty: unknown", "additionalProperties": {"$ref": "#/$defs/ns"}},
	"estimated": {"type": "boolean"}, "how": {"$ref": "#/$defs/text_or_null"}}},)
LINE("ledger": {"type": "object", "description": "every nanosecond of a rank in one bucket: the buckets add up to elapsed_ns; custom events by type are in CUSTOM_BADPUT_EVENTS.TYPE",)
LINE("required": ["type", "seq", "time", "mono_ns", "job", "rank", "pid", "elapsed_ns", "buckets", "unsettled_ns", "productive_gross_ns", "steps", "max_productive_step", "late_ns", "merged", "disruptions", "window", "final"],)
LINE("properties": {"type": {"const": "ledger"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count"},
	"elapsed_ns": {"$ref": "#/$defs/ns"}, "excluded_ns": {"$ref": "#/$defs/ns"}, "buckets": {"type": "object", "additionalProperties": {"$ref": "#/$defs/ns"}},
	"unsettled_ns": {"type": "integer", "minimum": 0, "description": "part of OTHER that the running step may still claim"},
	"unit": {"enum": ["step", "execution", "cycle"], "description": "what the loop of the process counts; the time of executions and cycles is OTHER, never goodput; absent in windows"},
	"productive_gross_ns": {"$ref": "#/$defs/ns_or_null"}, "steps": {"$ref": "#/$defs/count_or_null"},
	"max_productive_step": {"$ref": "#/$defs/count_or_null"},
	"late_ns": {"type": ["integer", "null"], "minimum": 0, "description": "time recognized too late: already settled in another bucket"},
	"merged": {"type": ["integer", "null"], "minimum": 0, "description": "intervals merged because there were too many"}, "disruptions": {"$ref": "#/$defs/count_or_null"},
	"window": {"type": "string", "description": "cumulative, or the length of a rolling window: 1h, 24h, 7d; counts of a window are null"},
	"from_ns": {"type": "integer", "minimum": 0, "description": "start of a rolling window, at least its length ago: a multiple of 3 s, a minute, half an hour or an hour"}, "final": {"type": "boolean"}}},)
LINE("health": {"type": "object", "description": "a health problem of a rank: one line when it is certain, and one when it is over (after a fail_slow: recovered)",)
LINE("required": ["type", "seq", "time", "mono_ns", "job", "rank", "pid", "kind", "onset_ns", "size", "over", "why", "phase", "evidence"],)
LINE("properties": {"type": {"const": "health"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count"},
	"kind": {"enum": ["hang", "fail_slow", "recovered", "straggler", "device_error", "communicator_error", "out_of_memory"]}, "onset_ns": {"$ref": "#/$defs/ns"},
	"size": {"type": "integer", "minimum": 0, "description": "of a hang: nanoseconds so far; of a fail_slow: nanoseconds that a step takes more; of a straggler: nanoseconds that the others wait for it in a step; of an error: 0"}, "over": {"type": "boolean"},
	"why": {"enum": ["unknown", "stopped", "collective", "input", "device", "io", "lock", "network", "child", "sleep", "idle", "busy", "cpu_contention", "cpu_throttled", "memory_pressure", "disk", "loader_cpu", "loader_io", "garbage_collection", "own_code", "device_throttled", "device_error", "interpreter_lock", "straggler", "checkpoint", "frequency", "kernel", "pipe"]},
	"phase": {"type": ["string", "null"], "description": "of a hang: the last phase; of a fail_slow: the phase that grew most; else: the job's own code between phases"},
	"evidence": {"$ref": "#/$defs/text_or_null"},
	"line": {"type": "string", "description": "of a fail_slow or recovered: the line of its main cause; of a hang: the Python stack of the thread that trained last, innermost call first; absent: unknown"},
	"name": {"type": "string", "description": "of an error: its official name; one line for each process, further ones are counted"},
	"code": {"type": "integer", "description": "of an error; -1: none"},
	"origin": {"type": "string", "description": "of an error: the probe that reported it, kernel log, or device"},
	"step": {"type": ["integer", "null"], "minimum": 1, "description": "of an error: the last step reported by then, one more may be done; of a straggler: the first in which the others waited"},
	"loop": {"$ref": "#/$defs/count"},
	"ratio": {"type": "number", "description": "of a fail_slow: step time after over before"},
	"period": {"type": ["integer", "null"], "minimum": 2, "description": "of a fail_slow: the distance of long steps, in steps; null: none was found"},
	"onset_step": {"$ref": "#/$defs/count"}, "end_ns": {"$ref": "#/$defs/ns_or_null"},
	"end_step": {"type": ["integer", "null"], "minimum": 1, "description": "the first step that was fast again"},
	"causes": {"type": "array", "items": {"type": "object", "required": ["cause", "ns", "share"], "properties": {"cause": {"type": "string"}, "ns": {"$ref": "#/$defs/ns"}, "share": {"type": "number", "minimum": 0, "maximum": 1}, "line": {"type": "string", "description": "file, line and function: of own_code; of interpreter_lock and checkpoint, those of the thread that has the lock; of unknown, where the training thread waits"}}}, "description": "of a fail_slow: what explains the growth of a step, in nanoseconds of each step, and its share of the growth; absent: not examined"},
	"examined": {"$ref": "#/$defs/examined"}}},)
LINE("loss": {"type": "object", "description": "records that did not arrive",)
LINE("required": ["type", "seq", "time", "mono_ns", "source", "count"],)
LINE("properties": {"type": {"const": "loss"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count"},
	"source": {"$ref": "#/$defs/text"}, "count": {"$ref": "#/$defs/count"}}},)
LINE("monitor": {"type": "object", "description": "an event of torch.monitor; a Stat has the name torch.monitor.Stat, and entries such as STAT.mean and STAT.count",)
LINE("required": ["type", "seq", "time", "mono_ns", "job", "rank", "pid", "name", "wall_time", "data", "truncated"],)
LINE("properties": {"type": {"const": "monitor"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "rank": {"$ref": "#/$defs/count_or_null"}, "pid": {"$ref": "#/$defs/count"},
	"name": {"$ref": "#/$defs/text"}, "wall_time": {"$ref": "#/$defs/time"},
	"data": {"type": "object", "description": "null: not a number, or infinite", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
	"not_finite": {"type": "object", "description": "keys of data whose value is null, with the value", "additionalProperties": {"enum": ["nan", "inf", "-inf"]}},
	"truncated": {"type": "boolean", "description": "the event had more than 16 entries or a too long text, or a part was lost"}}},)
LINE("probe": {"type": "object", "description": "the overhead budget gave up a probe, or attached it again",)
LINE("required": ["type", "seq", "time", "mono_ns", "probe", "library", "group", "state"],)
LINE("properties": {"type": {"const": "probe"}, "seq": {"$ref": "#/$defs/seq"}, "time": {"$ref": "#/$defs/time"}, "mono_ns": {"$ref": "#/$defs/ns"},
	"job": {"$ref": "#/$defs/job"}, "probe": {"$ref": "#/$defs/text"}, "library": {"$ref": "#/$defs/text"},
	"group": {"enum": ["marker", "confirm", "bulk", "fault", "measure", null]},
	"state": {"enum": ["absent", "attached", "counted", "given_up", "idle", "detached", "failed", "refused", null]}}})
LINE(}});
/* clang-format on */

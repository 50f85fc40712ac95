#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls.py DIR OUT: calls every function of CUDA and NCCL that has a row in probes/, and each of its names, 23 times, in
the stand-in libraries of DIR; waits for a line before that. Writes to OUT what a watcher must have seen of each row:
{"row": {"calls": n, "counted": n, "ret": [...], "arg": [[...], ...]}}, an argument of null being anybody's guess."""
import ctypes as c
import json
import os
import sys

TIMES = 23
NULL = c.c_void_p(0)
FLOAT = 7
BUFFERS = c.create_string_buffer(4096), c.create_string_buffer(4096)  # the device may be behind


class Id(c.Structure):
    _fields_ = [("word", c.c_uint64 * 16)]


class Dim(c.Structure):
    _fields_ = [("x", c.c_uint), ("y", c.c_uint), ("z", c.c_uint)]


class Seen(dict):
    """What was called, by row."""

    def call(self, row, function, *args, want=(), counted=False):
        """want: what the row captures: values, or functions that tell them when the call is over."""
        ret = function(*args)
        of = self.setdefault(row, {"calls": 0, "counted": 0, "ret": [], "arg": []})
        of["counted" if counted else "calls"] += 1
        if not counted:
            of["ret"].append(ret)
            of["arg"].append([w() if callable(w) else w for w in want])
        return ret


def size(n):
    return c.c_size_t(n)


def out():
    return c.c_uint64(0)


def driver_start(seen, cuda, i):
    at = out()
    ref = c.byref(at)
    seen.call("cuda.init", cuda.cuInit, 0)
    seen.call("cuda.context", cuda.cuDevicePrimaryCtxRetain, ref, i, want=[i])
    seen.call("cuda.context_create", cuda.cuCtxCreate_v2, ref, 0, i)
    seen.call("cuda.context_create", cuda.cuCtxCreate_v3, ref, NULL, 0, 0, i)
    seen.call("cuda.context_create", cuda.cuCtxCreate_v4, ref, NULL, 0, i)
    for name in ("", "Data", "FatBinary"):
        seen.call("cuda.module_load", getattr(cuda, "cuModuleLoad" + name), ref, NULL)
    seen.call("cuda.module_load", cuda.cuModuleLoadDataEx, ref, NULL, 0, NULL, NULL)
    for name in ("Data", "FromFile"):
        seen.call("cuda.library_load", getattr(cuda, "cuLibraryLoad" + name), ref, NULL, NULL, NULL, 0, NULL, NULL, 0)
    seen.call("cuda.link", cuda.cuLinkComplete, NULL, ref, ref)


def driver_launches(seen, cuda, _):
    for twin in ("", "_ptsz"):
        for row, name in (("launch", "cuLaunchKernel"), ("launch_cooperative", "cuLaunchCooperativeKernel")):
            seen.call("cuda." + row, getattr(cuda, name + twin), NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, counted=True)
        seen.call("cuda.launch_ex", getattr(cuda, "cuLaunchKernelEx" + twin), NULL, NULL, NULL, NULL, counted=True)


def driver_waits(seen, cuda, i):
    for twin in ("", "_ptsz"):
        seen.call("cuda.stream_sync", getattr(cuda, "cuStreamSynchronize" + twin), c.c_void_p(i), want=[i])
    seen.call("cuda.event_sync", cuda.cuEventSynchronize, c.c_void_p(i), want=[i])
    seen.call("cuda.context_sync", cuda.cuCtxSynchronize)
    seen.call("cuda.context_sync", cuda.cuCtxSynchronize_v2, NULL)


def driver_graphs(seen, cuda, _):
    stream, graph, exe = out(), out(), out()
    cuda.cuStreamCreate(c.byref(stream), 0)
    for n, twin in enumerate(("", "_ptsz", "_v2", "_v2_ptsz")):
        seen.call("cuda.capture_begin", getattr(cuda, "cuStreamBeginCapture" + twin), stream, 0, want=[stream.value])
        graph.value = 0
        seen.call("cuda.capture_end", getattr(cuda, "cuStreamEndCapture" + ("", "_ptsz")[n % 2]), stream, c.byref(graph),
                  want=[stream.value, lambda: graph.value])
    for name, more in (("", 3), ("_v2", 3), ("WithFlags", 1), ("WithParams", 1), ("WithParams_ptsz", 1)):
        exe.value = 0
        seen.call("cuda.graph_instantiate", getattr(cuda, "cuGraphInstantiate" + name), c.byref(exe), graph,
                  *[NULL] * more, want=[lambda: exe.value])
    for twin in ("", "_ptsz"):
        seen.call("cuda.graph_launch", getattr(cuda, "cuGraphLaunch" + twin), exe, stream, want=[exe.value, stream.value])


def driver_copies(seen, cuda, i):
    a, b = BUFFERS
    n = size(1000 + i)
    for row, name, suffix in (("copy_in", "cuMemcpyHtoD_v2", "_ptds"), ("copy_out", "cuMemcpyDtoH_v2", "_ptds"),
                              ("copy", "cuMemcpy", "_ptds")):
        for twin in ("", suffix):
            seen.call("cuda." + row, getattr(cuda, name + twin), a, b, n, want=[1000 + i])
    for row, name, want in (("copy_in_async", "cuMemcpyHtoDAsync_v2", [0]), ("copy_out_async", "cuMemcpyDtoHAsync_v2", [0]),
                            ("copy_async", "cuMemcpyAsync", [])):
        for twin in ("", "_ptsz"):
            seen.call("cuda." + row, getattr(cuda, name + twin), a, b, n, NULL, want=[1000 + i, *want])
    for twin in ("", "_ptds"):
        seen.call("cuda.copy_on_device", getattr(cuda, "cuMemcpyDtoD_v2" + twin), a, b, n, counted=True)
    for twin in ("", "_ptsz"):
        seen.call("cuda.copy_on_device_async", getattr(cuda, "cuMemcpyDtoDAsync_v2" + twin), a, b, n, NULL, counted=True)
        seen.call("cuda.copy_peer", getattr(cuda, "cuMemcpyPeerAsync" + twin), a, NULL, b, NULL, n, NULL, want=[1000 + i])


def driver_memory(seen, cuda, i):
    """Which fail, by FAKE_CUDA: others are not told."""
    at, n = c.byref(out()), size((i + 1) << 33)
    seen.call("cuda.alloc", cuda.cuMemAlloc_v2, at, n, want=[n.value])
    seen.call("cuda.alloc_managed", cuda.cuMemAllocManaged, at, n, 0, want=[n.value])
    seen.call("cuda.alloc_physical", cuda.cuMemCreate, at, n, NULL, 0, want=[n.value])
    for twin in ("", "_ptsz"):
        seen.call("cuda.alloc_async", getattr(cuda, "cuMemAllocAsync" + twin), at, n, NULL, want=[n.value])
        seen.call("cuda.alloc_from_pool", getattr(cuda, "cuMemAllocFromPoolAsync" + twin), at, n, NULL, NULL,
                  want=[n.value])


def driver_checkpoints(seen, cuda, i):
    for row, name in (("lock", "Lock"), ("", "Checkpoint"), ("restore", "Restore"), ("unlock", "Unlock")):
        seen.call("cuda.checkpoint" + ("_" + row if row else ""), getattr(cuda, "cuCheckpointProcess" + name), 100 + i, NULL,
                  want=[100 + i])


def runtime(seen, cudart, i):
    """What waits fails, by FAKE_CUDART. A launch ends in the driver's, whatever it was called."""
    place, dim = c.c_int(0), Dim(1, 1, 1)
    seen.call("cuda.runtime_devices", cudart.cudaGetDeviceCount, c.byref(place))
    seen.call("cuda.runtime_device_sync", cudart.cudaDeviceSynchronize)
    for twin in ("", "_ptsz"):
        seen.call("cuda.runtime_stream_sync", getattr(cudart, "cudaStreamSynchronize" + twin), c.c_void_p(i), want=[i])
        for name in ("cudaLaunchKernel", "__cudaLaunchKernel"):
            seen.call("cuda.launch", getattr(cudart, name + twin), NULL, dim, dim, NULL, size(0), NULL, counted=True)
    seen.call("cuda.runtime_event_sync", cudart.cudaEventSynchronize, c.c_void_p(i), want=[i])
    for twin in ("", "_ptds"):
        seen.call("cuda.runtime_memcpy", getattr(cudart, "cudaMemcpy" + twin), NULL, NULL, size(77 + i), 0, want=[77 + i])
    # The first call of the runtime is one of the driver's.
    seen["cuda.init"]["calls"] += 1
    seen["cuda.init"]["ret"].append(0)
    seen["cuda.init"]["arg"].append([])


def nccl_comms(seen, nccl, _):
    """A communicator of one rank by each call that makes one; the last of them is returned."""
    comm, ident = out(), Id()
    made = c.byref(comm)
    handle = lambda: comm.value  # noqa: E731
    nccl.ncclGetUniqueId(c.byref(ident))
    words = [ident.word[0], ident.word[1]]
    seen.call("nccl.comm_init_rank_scalable", nccl.ncclCommInitRankScalable, made, 1, 0, 1, c.byref(ident), NULL,
              want=[1, 0, handle, *words])
    seen.call("nccl.comm_init_rank_config", nccl.ncclCommInitRankConfig, made, 1, ident, 0, NULL, want=[1, 0, handle, *words])
    seen.call("nccl.comm_init_all", nccl.ncclCommInitAll, made, 1, NULL, want=[1, 0, handle])
    seen.call("nccl.comm_init_rank", nccl.ncclCommInitRank, made, 1, ident, 0, want=[1, 0, handle, *words])
    first = comm.value
    for row, function, args, more in (
            ("comm_split", nccl.ncclCommSplit, (0, 9), [0, 9]),
            ("comm_shrink", nccl.ncclCommShrink, (NULL, 2), [2])):
        tail = (NULL, 0) if row == "comm_shrink" else (NULL,)
        seen.call("nccl." + row, function, c.c_uint64(first), *args, made, *tail, want=[0, 0, handle, first, *more])
    seen.call("nccl.comm_grow", nccl.ncclCommGrow, c.c_uint64(first), 5, NULL, -1, made, NULL,
              want=[5, 0xffffffff, handle, 0, 0])
    return first


def nccl_collectives(seen, nccl, comm, i):
    a, b = BUFFERS
    n, type_, com = size(100 + i), FLOAT, c.c_uint64(comm)
    want = [100 + i, type_, comm]
    seen.call("nccl.all_reduce", nccl.ncclAllReduce, a, b, n, type_, 0, com, NULL, want=want)
    seen.call("nccl.reduce_scatter", nccl.ncclReduceScatter, a, b, n, type_, 0, com, NULL, want=want)
    seen.call("nccl.all_gather", nccl.ncclAllGather, a, b, n, type_, com, NULL, want=want)
    seen.call("nccl.all_to_all", nccl.ncclAlltoAll, a, b, n, type_, com, NULL, want=want)
    # There is no such peer: refused, and told as it was asked for.
    peer = 3 + i
    for row, function in (("broadcast", nccl.ncclBroadcast), ("gather", nccl.ncclGather), ("scatter", nccl.ncclScatter)):
        seen.call("nccl." + row, function, a, b, n, type_, peer, com, NULL, want=[*want, peer])
    seen.call("nccl.reduce", nccl.ncclReduce, a, b, n, type_, 0, peer, com, NULL, want=[*want, peer])
    seen.call("nccl.send", nccl.ncclSend, a, n, type_, peer, com, NULL, want=[*want, peer])
    seen.call("nccl.recv", nccl.ncclRecv, b, n, type_, peer, com, NULL, want=[*want, peer])


def nccl_ends(seen, nccl, comm, _):
    """GroupEnd and the watchdog's question fail, by FAKE_NCCL."""
    com, result = c.c_uint64(comm), c.c_int(0)
    seen.call("nccl.group_end", nccl.ncclGroupEnd)
    seen.call("nccl.async_error", nccl.ncclCommGetAsyncError, com, c.byref(result), want=[comm, lambda: result.value])
    seen.call("nccl.comm_finalize", nccl.ncclCommFinalize, com, want=[comm])
    seen.call("nccl.comm_destroy", nccl.ncclCommDestroy, com, want=[comm])
    seen.call("nccl.comm_abort", nccl.ncclCommAbort, com, want=[comm])
    seen.call("nccl.comm_revoke", nccl.ncclCommRevoke, com, 0, want=[comm])


def main():
    folder, told = sys.argv[1:]
    os.environ["FAKE_CUDA"] = ";".join(name + ":ret=2" for name in (
        "cuMemAlloc_v2", "cuMemAllocManaged", "cuMemCreate", "cuMemAllocAsync", "cuMemAllocAsync_ptsz",
        "cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync_ptsz"))
    os.environ["FAKE_CUDART"] = ";".join(name + ":ret=719" for name in (
        "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaStreamSynchronize_ptsz", "cudaEventSynchronize",
        "cudaMemcpy", "cudaMemcpy_ptds"))
    os.environ["FAKE_NCCL"] = "ncclGroupEnd:ret=2;ncclCommGetAsyncError:ret=6"
    cuda, cudart, nccl = (c.CDLL(os.path.join(folder, name), mode=c.RTLD_GLOBAL) for name in (
        "libcuda.so.1", "libcudart.so.13", "libnccl.so.2"))
    seen = Seen()
    print("loaded", flush=True)
    sys.stdin.readline()
    for i in range(TIMES):
        for part in (driver_start, driver_launches, driver_waits, driver_graphs, driver_copies, driver_memory,
                     driver_checkpoints):
            part(seen, cuda, i)
        runtime(seen, cudart, i)
        comm = nccl_comms(seen, nccl, i)
        nccl_collectives(seen, nccl, comm, i)
        cuda.cuCtxSynchronize_v2(NULL)
        seen["cuda.context_sync"]["calls"] += 1
        seen["cuda.context_sync"]["ret"].append(0)
        seen["cuda.context_sync"]["arg"].append([])
        nccl_ends(seen, nccl, comm, i)
    with open(told, "w", encoding="utf-8") as f:
        json.dump(seen, f)
    print("called", flush=True)


if __name__ == "__main__":
    main()

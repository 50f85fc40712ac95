#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""calls_real.py LIBRARY OUT: as calls.py, on a real libcudart or libnccl on a machine without a device: what they return
then is an error, by the call itself."""
import ctypes as c
import json
import sys

from calls import FLOAT, NULL, TIMES, Id, Seen, size


def runtime(seen, cudart, i):
    place = c.c_int(0)
    seen.call("cuda.runtime_devices", cudart.cudaGetDeviceCount, c.byref(place))
    seen.call("cuda.runtime_device_sync", cudart.cudaDeviceSynchronize)
    for twin in ("", "_ptsz"):
        seen.call("cuda.runtime_stream_sync", getattr(cudart, "cudaStreamSynchronize" + twin), NULL, want=[0])
    seen.call("cuda.runtime_event_sync", cudart.cudaEventSynchronize, NULL, want=[0])
    for twin in ("", "_ptds"):
        seen.call("cuda.runtime_memcpy", getattr(cudart, "cudaMemcpy" + twin), NULL, NULL, size(77 + i), 1, want=[77 + i])


def nccl(seen, lib, i):
    comm, ident = c.c_uint64(0), Id()
    for n in range(16):
        ident.word[n] = 1000 * i + n + 1
    words = [ident.word[0], ident.word[1]]
    world, rank = 40 + i, i
    seen.call("nccl.comm_init_rank", lib.ncclCommInitRank, c.byref(comm), world, ident, rank,
              want=[world, rank, lambda: comm.value, *words])
    seen.call("nccl.comm_init_rank_config", lib.ncclCommInitRankConfig, c.byref(comm), world, ident, rank, NULL,
              want=[world, rank, lambda: comm.value, *words])
    n = size(100 + i)
    for row, function in (("all_reduce", lib.ncclAllReduce), ("reduce_scatter", lib.ncclReduceScatter)):
        seen.call("nccl." + row, function, NULL, NULL, n, FLOAT, 0, NULL, NULL, want=[100 + i, FLOAT, 0])
    seen.call("nccl.all_gather", lib.ncclAllGather, NULL, NULL, n, FLOAT, NULL, NULL, want=[100 + i, FLOAT, 0])
    seen.call("nccl.broadcast", lib.ncclBroadcast, NULL, NULL, n, FLOAT, 3, NULL, NULL, want=[100 + i, FLOAT, 0, 3])
    seen.call("nccl.reduce", lib.ncclReduce, NULL, NULL, n, FLOAT, 0, 4, NULL, NULL, want=[100 + i, FLOAT, 0, 4])
    for row, function in (("send", lib.ncclSend), ("recv", lib.ncclRecv)):
        seen.call("nccl." + row, function, NULL, n, FLOAT, 5, NULL, NULL, want=[100 + i, FLOAT, 0, 5])
    seen.call("nccl.comm_destroy", lib.ncclCommDestroy, NULL, want=[0])
    seen.call("nccl.comm_abort", lib.ncclCommAbort, NULL, want=[0])
    seen.call("nccl.comm_finalize", lib.ncclCommFinalize, NULL, want=[0])
    nccl_of_some_versions(seen, lib, i)


def nccl_of_some_versions(seen, lib, i):
    comm, ident, n = c.c_uint64(0), Id(), size(100 + i)
    made, handle = c.byref(comm), lambda: comm.value
    ident.word[0], ident.word[1] = 7 + i, 8 + i
    for row, name, args, want in (
            ("comm_init_all", "ncclCommInitAll", (made, 1, NULL), [1, 0, handle]),
            ("comm_init_rank_scalable", "ncclCommInitRankScalable", (made, 40, i, 1, c.byref(ident), NULL),
             [40, i, handle, 7 + i, 8 + i]),
            ("comm_split", "ncclCommSplit", (NULL, i, 9, made, NULL), [0, 0, handle, 0, i, 9]),
            ("comm_grow", "ncclCommGrow", (NULL, 50, NULL, -1, made, NULL), [50, 0xffffffff, handle, 0, 0]),
            ("comm_revoke", "ncclCommRevoke", (NULL, 0), [0]),
            ("all_to_all", "ncclAlltoAll", (NULL, NULL, n, FLOAT, NULL, NULL), [100 + i, FLOAT, 0]),
            ("gather", "ncclGather", (NULL, NULL, n, FLOAT, 6, NULL, NULL), [100 + i, FLOAT, 0, 6]),
            ("scatter", "ncclScatter", (NULL, NULL, n, FLOAT, 6, NULL, NULL), [100 + i, FLOAT, 0, 6])):
        # 2.23 ends in a fault where there is no communicator to split, and so does ncclCommShrink of any version.
        if hasattr(lib, name) and (row != "comm_split" or hasattr(lib, "ncclCommShrink")):
            seen.call("nccl." + row, getattr(lib, name), *args, want=want)


def main():
    path, told = sys.argv[1:]
    lib, seen = c.CDLL(path), Seen()
    print("loaded", flush=True)
    sys.stdin.readline()
    for i in range(TIMES):
        (nccl if "libnccl" in path else runtime)(seen, lib, i)
    with open(told, "w", encoding="utf-8") as f:
        json.dump(seen, f)
    print("called", {row: sorted(set(of["ret"])) for row, of in seen.items()}, flush=True)


if __name__ == "__main__":
    main()

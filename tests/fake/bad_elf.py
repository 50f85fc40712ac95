#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bad_elf.py GOOD FOLDER: copies of the library GOOD that lie, one folder each, under its own name."""
import os
import struct
import sys

good_path, folder = sys.argv[1:]
with open(good_path, "rb") as f:
    good = f.read()
name = os.path.basename(good_path)
PHOFF, SHOFF, PHNUM, SHNUM = 0x20, 0x28, 0x38, 0x3C
PT_DYNAMIC, SHT_SYMTAB, SHT_STRTAB, SHT_DYNSYM = 2, 2, 3, 11
DT_HASH_GNU, DT_STRSZ = 0x6FFFFEF5, 10


def field(data, fmt, at):
    return struct.unpack_from("<" + fmt, data, at)[0]


def segments(data):
    for i in range(field(data, "H", PHNUM)):
        yield field(data, "Q", PHOFF) + i * 56


def sections(data):
    for i in range(field(data, "H", SHNUM)):
        yield field(data, "Q", SHOFF) + i * 64


def dynamic(data, tag):
    """Where the value of a tag of the dynamic section lies."""
    for ph in segments(data):
        if field(data, "I", ph) != PT_DYNAMIC:
            continue
        at = field(data, "Q", ph + 8)
        while field(data, "Q", at):
            if field(data, "Q", at) == tag:
                return at + 8
            at += 16
    raise SystemExit(f"{good_path}: no tag {tag:#x}")


def four_billion_symbols(d):
    for sh in sections(d):
        if field(d, "I", sh + 4) in (SHT_SYMTAB, SHT_DYNSYM):
            struct.pack_into("<Q", d, sh + 32, (1 << 32) * 24)


def hash_loop(d):
    """No chain ever ends, and there are as many buckets as fit."""
    at = field(d, "Q", dynamic(d, DT_HASH_GNU))
    buckets, _first, bloom, _shift = struct.unpack_from("<IIII", d, at)
    chains = at + 16 + 8 * bloom + 4 * buckets
    for i in range(bloom):
        struct.pack_into("<Q", d, at + 16 + 8 * i, (1 << 64) - 1)
    for i in range(64):
        struct.pack_into("<I", d, chains + 4 * i, field(d, "I", chains + 4 * i) & ~1)


def hash_huge(d):
    struct.pack_into("<IIII", d, field(d, "Q", dynamic(d, DT_HASH_GNU)), 0xFFFFFFFF, 1, 0xFFFFFFFF, 31)


def strings_huge(d):
    struct.pack_into("<Q", d, dynamic(d, DT_STRSZ), (1 << 64) - 1)


def segments_lie(d):
    for ph in segments(d):
        struct.pack_into("<QQQQ", d, ph + 8, 1 << 63, (1 << 64) - 4096, 0, (1 << 64) - 1)


def segments_many(d):
    struct.pack_into("<H", d, PHNUM, 0xFFFF)


def sections_overlap(d):
    for sh in sections(d):
        struct.pack_into("<QQ", d, sh + 24, 0, len(d))


def sections_many(d):
    """Over 0xff00: the first one's size says how many."""
    struct.pack_into("<H", d, SHNUM, 0)
    struct.pack_into("<Q", d, field(d, "Q", SHOFF) + 32, (1 << 64) - 1)


def names_scattered(d):
    """Three million functions more, each name far from the one before."""
    strings, symbols = len(d), len(d) + (32 << 10)
    d.extend(bytes(32 << 10))
    one = struct.pack("<IBBHQQ", 1, 2, 0, 1, 0x1000, 8) + struct.pack("<IBBHQQ", 16 << 10, 2, 0, 1, 0x1000, 8)
    d.extend(one * 1500000)
    sections_at = len(d)
    d.extend(bytes(64))
    d.extend(struct.pack("<IIQQQQIIQQ", 0, SHT_SYMTAB, 0, 0, symbols, len(one) * 1500000, 2, 0, 8, 24))
    d.extend(struct.pack("<IIQQQQIIQQ", 0, SHT_STRTAB, 0, 0, strings, 32 << 10, 0, 0, 1, 0))
    struct.pack_into("<Q", d, SHOFF, sections_at)
    struct.pack_into("<H", d, SHNUM, 3)
    executable = next(ph for ph in segments(d) if field(d, "I", ph) == 1 and field(d, "I", ph + 4) & 1)
    struct.pack_into("<QQQQ", d, executable + 8, 0x1000, 0x1000, 0, 0x1000)


def header_only(d):
    del d[64:]


def empty(d):
    del d[:]


LIES = (four_billion_symbols, hash_loop, hash_huge, strings_huge, segments_lie, segments_many, sections_overlap,
        sections_many, names_scattered, header_only, empty)
for lie in LIES:
    data = bytearray(good)
    lie(data)
    os.mkdir(f"{folder}/{lie.__name__}")
    with open(f"{folder}/{lie.__name__}/{name}", "wb") as f:
        f.write(data)
os.mkdir(f"{folder}/sparse")
with open(f"{folder}/sparse/{name}", "wb") as f:
    f.write(good)
    f.truncate(100 << 30)

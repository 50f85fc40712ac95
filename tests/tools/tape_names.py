#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tape_names.py TAPE: the name of each range_begin record on a tape, one a line, in order of arrival."""
import sys

from tape import RANGE_BEGIN, records, text


def main():
    for kind, payload, *_ in records(sys.argv[1]):
        if kind == RANGE_BEGIN:
            print(text(payload[8:]))


if __name__ == "__main__":
    main()

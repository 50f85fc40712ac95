#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A page of OpenMetrics on standard input, by the strict parser of python3-prometheus-client (the system's Python has
it). Prints how many families and samples it has; fails with one line where it is none."""
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families


def main():
    try:
        families = list(text_string_to_metric_families(sys.stdin.read()))
    except ValueError as e:
        sys.exit(f"no OpenMetrics: {e}")
    for f in families:
        if f.type == "unknown":
            sys.exit(f"{f.name} has no type")
        if f.type == "histogram" and not any(s.name.endswith("_created") for s in f.samples):
            sys.exit(f"{f.name} does not say when it began")
        for suffix in ("seconds", "bytes", "ratio"):
            if f.name.endswith("_" + suffix) and f.unit != suffix:
                sys.exit(f"{f.name} has the unit '{f.unit}'")
    print(len(families), sum(len(f.samples) for f in families))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""google_client_test.py [NAME...]: the stand-in of Cloud Monitoring by Google's own client: what it writes is taken, and
it understands the replies. TAP; skipped where the client is not installed."""
from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from gcm_client import NOW, PATH, Client, distribution, gauge, library, run, total  # noqa: E402
from gcm_json import google_types  # noqa: E402

MISSING = None if google_types() else "no google-cloud-monitoring (tests/tools/framework.sh google)"
if not MISSING:
    from google_sent import GoogleAPICallError, Request, differences, google_client, json_format, monitoring_v3, parsed


def series_of_all_kinds() -> list:
    return [gauge("a", NOW, 2**62, k="é\"\\\n"), total("c", NOW - 60, NOW + 0.25, 7), distribution("d", NOW, [0.1, 1e300], [1, 0, 2]),
            distribution("e", NOW, [1.0], []), library("performance", NOW, 0.1)]


def test_19_what_its_client_sends_is_what_was_written(c: Client) -> str | None:
    if MISSING:
        return MISSING
    body = json.dumps({"timeSeries": series_of_all_kinds()}).encode()
    with google_client(c) as google:
        assert not differences(c, google, "demo-project", body)
        assert c.journal()[-1]["rule"] == 0 and len(c.stored()) == 5
    return None


def test_19_its_client_reads_a_partial_failure(c: Client) -> str | None:
    if MISSING:
        return MISSING
    c.write(gauge("a", NOW))
    body = json.dumps({"timeSeries": [gauge("a", NOW + 1), gauge("b", NOW)]}).encode()
    with google_client(c) as google:
        try:
            google.create_time_series(request=Request.wrap(parsed(body, "projects/demo-project")))
            raise AssertionError("taken")
        except GoogleAPICallError as e:
            summary = monitoring_v3.CreateTimeSeriesSummary.pb(monitoring_v3.CreateTimeSeriesSummary())
            assert e.details[0].Unpack(summary), e.details
            assert e.code == 400 and "more frequently" in e.message, e
            assert (summary.total_point_count, summary.success_point_count, summary.errors[0].point_count) == (2, 1, 1), summary
            assert summary.errors[0].status.code == 3, summary
    return None


def test_27_its_types_read_what_is_read_back(c: Client) -> str | None:
    if MISSING:
        return MISSING
    assert c.write(*series_of_all_kinds()).status == 200
    reply = c.get(PATH + "?filter=metric.type=starts_with(%22c%22)&interval.endTime=2023-12-01T00:00:00Z")
    listed = json_format.Parse(reply.body, monitoring_v3.ListTimeSeriesResponse.pb(monitoring_v3.ListTimeSeriesResponse()))
    assert len(listed.time_series) == 5 and listed.time_series[0].points[0].value.int64_value == 2**62, listed
    rows = c.get("/v3/projects/demo-project/metricDescriptors").body
    page = monitoring_v3.ListMetricDescriptorsResponse.pb(monitoring_v3.ListMetricDescriptorsResponse())
    assert len(json_format.Parse(rows, page).metric_descriptors) == 4
    rows = c.get("/v3/projects/demo-project/monitoredResourceDescriptors").body
    page = monitoring_v3.ListMonitoredResourceDescriptorsResponse.pb(monitoring_v3.ListMonitoredResourceDescriptorsResponse())
    assert len(json_format.Parse(rows, page).resource_descriptors) > 5
    return None


if __name__ == "__main__":
    sys.exit(run(globals()))

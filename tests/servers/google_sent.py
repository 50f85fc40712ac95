#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""google_sent.py FILE...: the requests of each FILE ('gp-bpf ... --dry-run': lines of {"path", "body"}) read by Google's own
types, written by them again, and sent by Google's own client (google-cloud-monitoring) to the stand-in: all three are to
say the same. Prints one line a request, and fails where they do not, or where the stand-in refuses one.

PyPI's client speaks gRPC alone. The bridge here takes its bytes, as the service would, and hands them on as the JSON that
Google's types make of them; what the stand-in replies comes back as a gRPC status. Needs tests/tools/framework.sh google."""
from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import sys
from typing import Any, Iterator

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]  # our google.py is none of theirs

import grpc  # noqa: E402
from google.api_core.exceptions import GoogleAPICallError  # noqa: E402
from google.cloud import monitoring_v3  # noqa: E402
from google.cloud.monitoring_v3.services.metric_service.transports import MetricServiceGrpcTransport  # noqa: E402
from google.protobuf import json_format  # noqa: E402
from google.rpc import code_pb2, status_pb2  # noqa: E402
from grpc_status import rpc_status  # noqa: E402

sys.path.insert(0, HERE)

import gcm_json  # noqa: E402
from gcm_client import Client, Reply, started  # noqa: E402

METHOD = "/google.monitoring.v3.MetricService/CreateTimeSeries"
Request = monitoring_v3.CreateTimeSeriesRequest


class Bridge(grpc.GenericRpcHandler):
    """gRPC in, the stand-in's JSON out."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def service(self, details: Any) -> Any:
        if details.method != METHOD:
            return None
        return grpc.unary_unary_rpc_method_handler(self.create, Request.pb(Request()).FromString, lambda empty: b"")

    def create(self, request: Any, context: Any) -> None:
        body = json_format.MessageToJson(request).encode()
        reply = self.client.send("POST", f"/v3/{request.name}/timeSeries", body, {"Content-Type": "application/json"})
        if reply.status != 200:
            context.abort_with_status(rpc_status.to_status(status_of(reply)))


def status_of(reply: Reply) -> Any:
    """google.rpc.Status of an error body; its details are Google's types."""
    told = reply.json["error"]
    return json_format.ParseDict({"code": code_pb2.Code.Value(told["status"]), "message": told["message"],
                                  "details": told.get("details", [])}, status_pb2.Status())


@contextlib.contextmanager
def google_client(client: Client) -> Iterator[Any]:
    """Google's own client, whose service is the stand-in."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=[Bridge(client)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield monitoring_v3.MetricServiceClient(transport=MetricServiceGrpcTransport(channel=channel))
    finally:
        server.stop(None).wait()


def parsed(body: bytes, name: str = "") -> Any:
    """The request that a body is to Google; unknown fields are refused."""
    request = json_format.Parse(body.decode("utf-8"), Request.pb(Request()))
    request.name = request.name or name
    return request


def decoded(value: Any) -> list[dict[str, Any]]:
    return gcm_json.message(gcm_json.REQUEST, value)["timeSeries"]


def differences(client: Client, google: Any, project: str, body: bytes) -> list[str]:
    """Of one request: as it is written, as Google's types have it, as Google's client sends it."""
    request = parsed(body, f"projects/{project}")
    ours = decoded(gcm_json.load(body))
    bad = [] if decoded(json_format.MessageToDict(request)) == ours else ["Google's types read it differently"]
    try:
        google.create_time_series(request=Request.wrap(request))
    except GoogleAPICallError as e:
        bad.append(f"refused: {e.message}")
    row = client.journal()[-1]
    if "body" not in row or decoded(row["body"]) != ours:
        bad.append("Google's client sends it differently")
    return bad


def newest_ns(value: Any) -> int:
    return max(p["interval"]["endTime"] for s in decoded(value) for p in s["points"])


def file_differs(client: Client, google: Any, path: str) -> bool:
    """One run, on a stand-in that has seen no other."""
    with open(path, encoding="utf-8") as f:
        lines = [line for line in map(json.loads, f) if line["path"].endswith("/timeSeries")]
    client.control(wipe=True)
    failed = False
    for i, line in enumerate(lines, 1):
        client.control(now=newest_ns(line["body"]) / 1e9)
        bad = differences(client, google, line["path"].split("/")[3], json.dumps(line["body"]).encode())
        print(f"{path}: {i}: {len(line['body']['timeSeries'])} series" + "".join(f"; {b}" for b in bad))
        failed |= bool(bad)
    return failed or not lines


def main() -> int:
    with started() as client, google_client(client) as google:
        failed = [path for path in sys.argv[1:] if file_differs(client, google, path)]
    return 1 if failed or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())

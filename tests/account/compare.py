# SPDX-License-Identifier: Apache-2.0
"""Two answers in the form of vectors/, within the tolerance of their README.md: the differences, one a line."""

SUM, RELATIVE, PERCENT = 1e-5, 1e-9, 1e-4


def differences(expected, got, path=""):
    if isinstance(expected, dict) and "error" in expected:
        return error_differences(expected["error"], got, path)
    if isinstance(expected, dict) and isinstance(got, dict):
        out = []
        if "error" in got:
            out.append(f"{path}: no error expected, but {got['error']}")
        for key in expected:
            if key not in got:
                out.append(f"{path}/{key}: missing")
            else:
                out += differences(expected[key], got[key], f"{path}/{key}")
        if path.split("/")[-1] in ("badput_pct", "unproductive_time_s", "CUSTOM_BADPUT_EVENTS", "by_step",
                                   "sampled_by_step"):
            out += [f"{path}/{key}: not expected" for key in got if key not in expected]
            if "by_step" in path and list(expected) != list(got):
                out.append(f"{path}: another order")
        return out
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [d for n, (a, b) in enumerate(zip(expected, got)) for d in differences(a, b, f"{path}[{n}]")]
    if is_number(expected) and is_number(got):
        limit = PERCENT if "_pct" in path else SUM + RELATIVE * abs(expected)
        return [] if abs(expected - got) <= limit else [f"{path}: {expected!r} expected, {got!r}"]
    return [] if expected == got else [f"{path}: {short(expected)} expected, {short(got)}"]


def error_differences(error, got, path):
    """What the library raises, and numbers all the same; a time in its message is not told."""
    told = got.get("error") if isinstance(got, dict) else None
    if not told:
        return [f"{path}: {error['type']} expected: {error['message']}"]
    out = []
    if told["type"] != error["type"] or not error["message"].startswith(told["message"]):
        out.append(f"{path}: {error} expected, {told}")
    if "goodput_pct" not in got and not error["message"].startswith(("No log entries", "Start time is on")):
        out.append(f"{path}: no numbers beside the error")
    return out


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def short(value):
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "..."

# SPDX-License-Identifier: Apache-2.0
"""Cloud Logging as far as the library reads it: a client whose log is a list of entries in memory."""
import collections
import re

ASCENDING = "timestamp asc"
Entry = collections.namedtuple("Entry", "timestamp insert_id payload")
log = []  # of Entry; whoever uses this fills it


def _instants(text):
    import datetime
    return datetime.datetime.fromisoformat(text)


def admits(filter_, entry):
    """The clauses that the library writes: an end, a start, or a start with the id of the last entry seen."""
    until = re.search(r'timestamp<="([^"]*)"', filter_)
    after = re.search(r'timestamp>"([^"]*)"', filter_)
    beyond = re.search(r'\(timestamp > "([^"]*)" OR \(timestamp = "[^"]*" AND insertId > "([^"]*)"\)\)', filter_)
    job = re.search(r'jsonPayload.job_name="([^"]*)"', filter_)
    if until and entry.timestamp > _instants(until[1]):
        return False
    if after and entry.timestamp <= _instants(after[1]):
        return False
    if beyond and (entry.timestamp, entry.insert_id) <= (_instants(beyond[1]), beyond[2]):
        return False
    return not job or entry.payload.get("job_name") == job[1]


class Logger:
    def list_entries(self, filter_="", order_by=None, page_size=None):
        return [entry for entry in log if admits(filter_, entry)]


class Client:
    project = None

    def logger(self, name):
        return Logger()

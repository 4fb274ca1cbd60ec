"""The commands: fetch, narrow to the namespace, show; with ``--watch`` again and again."""

import sys
import time
from argparse import Namespace
from datetime import UTC, datetime
from typing import Final, TextIO

import msgspec

from cli import client, views
from cli.errors import UnansweredError
from shared import api
from shared.system_clock import SystemClock

_HOME_AND_CLEAR: Final = "\x1b[H\x1b[2J"
_KINDS: Final[dict[str, type[api.Response]]] = {
    "queue": api.QueueResponse,
    "nodes": api.NodesResponse,
    "jobs": api.JobsResponse,
    "explain": api.ExplainResponse,
}


def run(asked: Namespace, out: TextIO) -> None:
    """Run the command once, or until Ctrl-C.

    Raises:
        UnansweredError: The extender could not answer; under ``--watch`` only the first time.
    """
    print(_show(asked), file=out, flush=True)
    while asked.watch:
        time.sleep(asked.watch)
        try:
            text = _show(asked)
        except UnansweredError as error:
            print(error, file=sys.stderr, flush=True)
            continue
        print(_between(asked, out) + text, file=out, flush=True)


def _show(asked: Namespace) -> str:
    query = {}
    if asked.command == "explain":
        query = {"namespace": asked.namespace or "default", "pod": asked.pod}
    body = client.fetch(asked.url, f"/v1/{asked.command}", **query)
    answer = client.understand(body, _KINDS[asked.command])
    if asked.namespace and isinstance(answer, api.QueueResponse | api.JobsResponse):
        answer = _narrow(answer, asked.namespace)
        body = msgspec.json.encode(answer)
    if asked.output == "json":
        return msgspec.json.format(body, indent=0 if asked.watch else 2).decode()
    return "\n".join(views.lines(answer, wide=asked.output == "wide"))


def _narrow(
    answer: api.QueueResponse | api.JobsResponse, namespace: str
) -> api.QueueResponse | api.JobsResponse:
    kept = tuple(entry for entry in answer.entries if entry.namespace == namespace)
    return msgspec.structs.replace(answer, entries=kept)


def _between(asked: Namespace, out: TextIO) -> str:
    """Return what separates two showings: a terminal is redrawn, a file gets time stamps."""
    if asked.output == "json":
        return ""
    if out.isatty():
        return _HOME_AND_CLEAR
    at = datetime.fromtimestamp(SystemClock().now(), UTC)
    return f"\n{at:%Y-%m-%dT%H:%M:%SZ}\n"

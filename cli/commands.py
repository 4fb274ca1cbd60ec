"""The commands: fetch, narrow to what was asked for, show; with ``--watch`` again and again."""

import sys
import time
from argparse import Namespace
from datetime import UTC, datetime
from typing import Final, NamedTuple, TextIO

import msgspec

from cli import (
    client,
    harmless,
    heatmap,
    ledger,
    narrowing,
    pages,
    picture,
    screen,
    subject,
    trying,
    views,
)
from cli.errors import UnansweredError
from shared import api
from shared.ledgers import RescalesResponse
from shared.pricing import PricesResponse, SlotPrices
from shared.system_clock import SystemClock
from shared.tenancy import NamespacesResponse

_HOME_AND_CLEAR: Final = "\x1b[H\x1b[2J"
_KINDS: Final[dict[str, type[api.Response]]] = {
    "queue": api.QueueResponse,
    "nodes": api.NodesResponse,
    "jobs": api.JobsResponse,
    "migrations": api.MigrationsResponse,
    "rescales": RescalesResponse,
    "prices": PricesResponse,
    "namespaces": NamespacesResponse,
    "explain": api.ExplainResponse,
}

_OF_NAMESPACES: Final = frozenset({"queue", "jobs", "migrations", "rescales"})
"""Commands whose answer is of all namespaces unless one is asked for."""


UNCHECKED: Final = 3
"""Exit code of a what-if that is answered, but whose manifest the API server has not checked."""


class _Shown(NamedTuple):
    """What is printed, and the exit code."""

    text: str
    code: int = 0


def run(asked: Namespace, out: TextIO) -> int:
    """Run the command once, or until Ctrl-C; return the exit code.

    Raises:
        UnansweredError: The extender could not answer; under ``--watch`` only the first time.
    """
    way = client.way(asked)
    text, code = _show(asked, way, out)
    print(text, file=out, flush=True)
    while asked.watch:
        time.sleep(asked.watch)
        try:
            text, code = _show(asked, way, out)
        except UnansweredError as error:
            print(error, file=sys.stderr, flush=True)
            continue
        print(_between(asked, out) + text, file=out, flush=True)
    return code


def _show(asked: Namespace, way: client.Way, out: TextIO) -> _Shown:
    namespace = asked.namespace or way.namespace or "default"
    if asked.command == "what-if":
        return _what_if(asked, way, namespace, out)
    query: dict[str, str] = {}
    if asked.command == "explain":
        query = subject.query(asked.subject, namespace)
    if asked.command == "prices" and (asked.slots or asked.svg):
        query = {"slots": "true"}
    if asked.namespace and asked.command in _OF_NAMESPACES:
        query = {"namespace": asked.namespace}
    path = "namespaces" if asked.command == "queue" and asked.by == "namespace" else asked.command
    body, whole = pages.fetch(way, f"/v1/{path}", _KINDS[path], query)
    answer = _narrowed(asked, whole)
    if asked.output == "json":
        is_as_told = answer is whole and body
        return _Shown(_json(asked, body if is_as_told else msgspec.json.encode(answer)))
    if isinstance(answer, api.MigrationsResponse) and asked.migration:
        return _Shown("\n\n".join("\n".join(ledger.details(one)) for one in answer.entries))
    if isinstance(answer, PricesResponse) and query:
        return _Shown(_slots(asked, answer, out))
    return _Shown(_table(asked, answer, out))


def _what_if(asked: Namespace, way: client.Way, namespace: str, out: TextIO) -> _Shown:
    """Have the API server check the manifest, then ask what would become of its job."""
    trial = trying.of(asked, way, namespace)
    body = way.fetch("/v1/what-if", question=trial.body, namespace=namespace)
    answer = client.understand(body, api.WhatIfResponse)
    code = UNCHECKED if trial.is_unchecked else 0
    if asked.output == "json":
        return _Shown(_json(asked, trial.told_as_json(body)), code)
    return _Shown(_table(asked, trial.told(answer), out), code)


def _json(asked: Namespace, body: bytes) -> str:
    indent = 0 if asked.watch else 2
    return msgspec.json.format(harmless.as_json(body), indent=indent).decode()


def _table(asked: Namespace, answer: api.Response, out: TextIO) -> str:
    blocks = screen.of(out).blocks
    return "\n".join(views.lines(answer, wide=asked.output == "wide", blocks=blocks))


def _slots(asked: Namespace, answer: PricesResponse, out: TextIO) -> str:
    """Return the prices of the slots as a heat map, or where its picture was written."""
    slots: SlotPrices | None = answer.slots
    if slots is None:
        raise UnansweredError(answer.slots_problem or "nothing is known of the slots")
    if asked.svg:
        picture.write(slots, asked.resource, asked.svg)
        return f"{asked.svg} is written"
    wide = asked.output == "wide"
    return "\n".join(heatmap.lines(slots, asked.resource, screen.of(out), wide=wide))


def _narrowed(asked: Namespace, answer: api.Response) -> api.Response:
    if asked.namespace:
        answer = narrowing.to_namespace(answer, asked.namespace)
    if isinstance(answer, api.MigrationsResponse) and asked.migration:
        answer = narrowing.to_migration(answer, asked.migration)
    return answer


def _between(asked: Namespace, out: TextIO) -> str:
    """Return what separates two showings: a terminal is redrawn, a file gets time stamps."""
    if asked.output == "json":
        return ""
    if out.isatty():
        return _HOME_AND_CLEAR
    at = datetime.fromtimestamp(SystemClock().now(), UTC)
    return f"\n{at:%Y-%m-%dT%H:%M:%SZ}\n"

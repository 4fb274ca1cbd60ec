"""The commands: fetch, narrow to what was asked for, show; with ``--watch`` again and again."""

import sys
import time
from argparse import Namespace
from datetime import UTC, datetime
from typing import Final, TextIO

import msgspec

from cli import (
    client,
    harmless,
    heatmap,
    ledger,
    manifest,
    narrowing,
    picture,
    screen,
    subject,
    views,
)
from cli.errors import UnansweredError
from shared import api
from shared.prices import PricesResponse, SlotPrices
from shared.rescales import RescalesResponse
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
    "what-if": api.WhatIfResponse,
}

_OF_NAMESPACES: Final = frozenset({"queue", "jobs", "migrations", "rescales"})
"""Commands whose answer is of all namespaces unless one is asked for."""


def run(asked: Namespace, out: TextIO) -> None:
    """Run the command once, or until Ctrl-C.

    Raises:
        UnansweredError: The extender could not answer; under ``--watch`` only the first time.
    """
    way = client.way(asked)
    print(_show(asked, way, out), file=out, flush=True)
    while asked.watch:
        time.sleep(asked.watch)
        try:
            text = _show(asked, way, out)
        except UnansweredError as error:
            print(error, file=sys.stderr, flush=True)
            continue
        print(_between(asked, out) + text, file=out, flush=True)


def _show(asked: Namespace, way: client.Way, out: TextIO) -> str:
    namespace = asked.namespace or way.namespace or "default"
    query: dict[str, str] = {}
    question: bytes | None = None
    if asked.command == "explain":
        query = subject.query(asked.subject, namespace)
    if asked.command == "what-if":
        query, question = {"namespace": namespace}, manifest.of(asked)
    if asked.command == "prices" and (asked.slots or asked.svg):
        query = {"slots": "true"}
    if asked.namespace and asked.command in _OF_NAMESPACES:
        query = {"namespace": asked.namespace}
    path = "namespaces" if asked.command == "queue" and asked.by == "namespace" else asked.command
    body = way.fetch(f"/v1/{path}", question=question, **query)
    whole = client.understand(body, _KINDS[path])
    answer = _narrowed(asked, whole)
    if asked.output == "json":
        shown = harmless.as_json(body) if answer is whole else msgspec.json.encode(answer)
        return msgspec.json.format(shown, indent=0 if asked.watch else 2).decode()
    if isinstance(answer, api.MigrationsResponse) and asked.migration:
        return "\n\n".join("\n".join(ledger.details(entry)) for entry in answer.entries)
    if isinstance(answer, PricesResponse) and query:
        return _slots(asked, answer, out)
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

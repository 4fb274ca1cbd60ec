"""The commands: fetch an answer, narrow it to the options, show it; with ``--watch`` repeatedly."""

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple, TextIO, TypeVar

import msgspec
from msgspec.structs import replace

from cli import arguments, client, manifest, output
from cli.errors import UnansweredError
from cli.views import explain, heatmap, jobs, ledger, nodes, queue, terminal, what_if
from cli.views.terminal import Terminal
from shared.readapi import api
from shared.readapi.answer import JobState
from shared.readapi.ledgers import ParkingsResponse, RescalesResponse
from shared.readapi.pricing import PricesResponse, SlotPrices
from shared.readapi.tenancy import NamespacesResponse

_KINDS: Final[dict[str, type[api.Response]]] = {
    "queue": api.QueueResponse,
    "nodes": api.NodesResponse,
    "jobs": api.JobsResponse,
    "migrations": api.MigrationsResponse,
    "rescales": RescalesResponse,
    "parkings": ParkingsResponse,
    "prices": PricesResponse,
    "namespaces": NamespacesResponse,
    "explain": api.ExplainResponse,
}
_OF_NAMESPACES: Final = frozenset({"queue", "jobs", "migrations", "rescales", "parkings"})
"""Commands that list all namespaces unless one is chosen."""
_LISTS: Final = (
    api.QueueResponse,
    api.JobsResponse,
    api.MigrationsResponse,
    RescalesResponse,
    ParkingsResponse,
    NamespacesResponse,
)
UNCHECKED: Final = 3
"""Exit code of a what-if that is answered, but whose manifest the API server has not checked."""

Answer = TypeVar("Answer", bound=api.Response)


class _Shown(NamedTuple):
    """What is printed, and the exit code."""

    text: str
    code: int = 0


def run(options: Namespace, out: TextIO) -> int:
    """Run the command once, or until Ctrl-C; return the exit code.

    Raises:
        UnansweredError: No answer; under ``--watch`` only the first time.
    """
    way = client.way(options)
    if options.command == "jobs" and options.watch and output.has_screen(options, out):
        from cli import full_screen  # noqa: PLC0415 - textual is slow to load

        source = full_screen.Source(partial(_jobs, options, way), partial(_explained, way))
        return full_screen.run(source, _choice(options), options.watch)
    text, code = _show(options, way, out)
    print(output.first(options, text, out), file=out, flush=True)
    while options.watch:
        time.sleep(options.watch)
        try:
            text, code = _show(options, way, out)
        except UnansweredError as error:
            print(error, file=sys.stderr, flush=True)
            continue
        print(output.again(options, text, out), file=out, flush=True)
    return code


def lines(answer: api.Response, options: Namespace, screen: Terminal) -> list[str]:
    """Return an answer as lines for a screen."""
    wide = options.output == "wide"
    match answer:
        case api.QueueResponse():
            return queue.queue(answer, wide=wide, screen=screen)
        case NamespacesResponse():
            return queue.namespaces(answer, wide=wide, screen=screen)
        case api.NodesResponse():
            return nodes.nodes(answer, wide=wide, screen=screen)
        case PricesResponse():
            return nodes.prices(answer, wide=wide)
        case api.JobsResponse():
            return jobs.jobs(answer, _choice(options), screen)
        case _:
            return _of_changes(answer, screen, wide=wide)


def _of_changes(answer: api.Response, screen: Terminal, *, wide: bool) -> list[str]:
    match answer:
        case api.MigrationsResponse():
            return ledger.migrations(answer, wide=wide, screen=screen)
        case RescalesResponse():
            return ledger.rescales(answer, wide=wide, screen=screen)
        case ParkingsResponse():
            return ledger.parkings(answer, wide=wide, screen=screen)
        case api.ExplainResponse():
            return explain.explain(answer, wide=wide, screen=screen)
        case api.WhatIfResponse():
            return what_if.what_if(answer, wide=wide, screen=screen)
        case _:
            raise TypeError(f"no view for {type(answer).__name__}")


def _show(options: Namespace, way: client.Way, out: TextIO) -> _Shown:
    namespace = options.namespace or way.namespace or "default"
    if options.command == "what-if":
        return _what_if(options, way, namespace, out)
    by_namespace = options.command == "queue" and options.by == "namespace"
    path = "namespaces" if by_namespace else options.command
    query = _query(options, namespace)
    body, whole = client.fetch_all(way, f"/v1/{path}", _KINDS[path], query)
    answer = _narrowed(options, whole)
    if options.output == "name":
        return _Shown(output.names(answer))
    if options.output in output.DOCUMENTS:
        is_unchanged = answer is whole and body
        return _Shown(
            output.document(options, body if is_unchanged else msgspec.json.encode(answer))
        )
    if isinstance(answer, api.MigrationsResponse) and options.migration:
        return _Shown("\n\n".join("\n".join(ledger.details(entry)) for entry in answer.entries))
    if isinstance(answer, PricesResponse) and query:
        return _Shown(_slots(options, answer, out))
    return _Shown(_text(options, answer, out))


def _choice(options: Namespace) -> jobs.Choice:
    wide = options.output == "wide"
    return jobs.Choice(options.columns, options.sort, options.reverse, wide)


def _jobs(options: Namespace, way: client.Way) -> api.JobsResponse:
    """Return the jobs of the options."""
    query = _query(options, "")
    _, whole = client.fetch_all(way, "/v1/jobs", api.JobsResponse, query)
    return _to_states(_to_namespace(whole, options.namespace), options.state)


def _explained(way: client.Way, job: api.JobEntry, screen: terminal.Terminal) -> str:
    """Return what ``explain`` shows of a job on a terminal."""
    query = {"namespace": job.namespace, "job": job.job, "kind": job.kind}
    answer = client.parse(way.fetch("/v1/explain", question=None, **query), api.ExplainResponse)
    return "\n".join(explain.explain(answer, wide=False, screen=screen))


def _query(options: Namespace, namespace: str) -> dict[str, str]:
    if options.command == "explain":
        return arguments.subject_query(options.subject, namespace)
    if options.command == "prices" and (options.slots or options.svg):
        return {"slots": "true"}
    if options.namespace and options.command in _OF_NAMESPACES:
        return {"namespace": options.namespace}
    return {}


def _what_if(options: Namespace, way: client.Way, namespace: str, out: TextIO) -> _Shown:
    """Have the API server check the manifest, then ask the extender about its job."""
    trial = manifest.trial(options, way, namespace)
    body = way.fetch("/v1/what-if", question=trial.body, namespace=namespace)
    answer = client.parse(body, api.WhatIfResponse)
    code = UNCHECKED if trial.is_unchecked else 0
    if options.output in output.DOCUMENTS:
        return _Shown(output.document(options, trial.add_to_json(body)), code)
    return _Shown(_text(options, trial.add_to(answer), out), code)


def _text(options: Namespace, answer: api.Response, out: TextIO) -> str:
    return "\n".join(lines(answer, options, terminal.of_stream(out)))


def _slots(options: Namespace, answer: PricesResponse, out: TextIO) -> str:
    """Return the prices of the slots as a heat map, or where its picture was written."""
    slots: SlotPrices | None = answer.slots
    if slots is None:
        raise UnansweredError(
            answer.slots_problem or "the slots have no prices yet: try again in a moment"
        )
    if options.svg:
        heatmap.write_svg(slots, options.resource, options.svg)
        return f"wrote {options.svg}"
    wide, screen = options.output == "wide", terminal.of_stream(out)
    return "\n".join(heatmap.lines(slots, options.resource, screen, wide=wide))


def _narrowed(options: Namespace, answer: api.Response) -> api.Response:
    answer = _to_namespace(answer, options.namespace)
    if isinstance(answer, api.MigrationsResponse) and options.migration:
        answer = _to_migration(answer, options.migration)
    if isinstance(answer, api.JobsResponse):
        answer = _to_states(answer, options.state)
    return answer


def _to_states(answer: api.JobsResponse, states: Sequence[str]) -> api.JobsResponse:
    """Return the answer with the jobs in some states; without states with all."""
    if not states:
        return answer
    wanted = {JobState(state) for state in states}
    kept = tuple(entry for entry in answer.entries if entry.state in wanted)
    return replace(answer, entries=kept)


def _to_namespace(answer: Answer, namespace: str | None) -> Answer:
    """Return the answer with the entries of one namespace; nodes are in none."""
    if not namespace:
        return answer
    if isinstance(answer, _LISTS):
        entries = [entry for entry in answer.entries if entry.namespace == namespace]
        answer = replace(answer, entries=tuple(entries))
    if isinstance(answer, api.MigrationsResponse | RescalesResponse):
        declined = [entry for entry in answer.declined if entry.job.startswith(f"{namespace}/")]
        answer = replace(answer, declined=tuple(declined))
    return answer


def _to_migration(answer: api.MigrationsResponse, name: str) -> api.MigrationsResponse:
    """Return the answer with the migrations of one name only.

    Raises:
        UnansweredError: There is none.
    """
    entries = tuple(entry for entry in answer.entries if entry.name == name)
    if not entries:
        raise UnansweredError(f"migration {name} not found: `shuntyard migrations` lists them")
    return replace(answer, entries=entries, declined=())

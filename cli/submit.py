"""``shuntyard submit``: add scheduler and gate to a job, show what-if's answer, create it.

The gate is left to the cluster where its admission policy adds it.

Source:
    https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation
"""

import sys
from argparse import Namespace
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TextIO

import msgspec
from typing_extensions import override

from cli import api_server, client, gating, manifest, output, sanitize
from cli.api_server import ApiServer
from cli.by_service import ByService
from cli.dry_run import gate_policy
from cli.dry_run.served import Resource, Served
from cli.errors import UnansweredError
from cli.gating import Queued
from cli.views import what_if
from shared.kube import errors
from shared.readapi import api
from shared.terminal import plain

_QUERY: Final = {"fieldValidation": "Strict", "fieldManager": "shuntyard-submit"}
_YES: Final = frozenset({"y", "yes"})
_NO_RIGHT: Final = "cannot create resource"
_DECLINED: Final = 1
"""Exit code if the user does not want the job to be created."""


class _Created(NamedTuple):
    """An object that was created; the namespace is empty for one that is in none."""

    resource: str
    namespace: str
    name: str

    @override
    def __str__(self) -> str:
        place = f" -n {self.namespace}" if self.namespace else ""
        return f"{self.resource} {self.name}{place}"


def run(options: Namespace, out: TextIO) -> int:
    """Submit a manifest; return the exit code.

    Raises:
        UnansweredError: The manifest cannot be read, or the API server refuses an object of it.
    """
    documents = manifest.read(options.file)
    if options.output in output.DOCUMENTS:  # with --dry-run only, and without a cluster
        print(_printed(gating.queued(documents), options.output), file=out)
        return 0
    server = api_server.of_options(options)
    namespace = options.namespace or server.namespace or "default"
    queued = gating.queued(documents, lambda: gate_policy.adds_gate(server, namespace))
    lines = _forecast(options, ByService(server, options.service, namespace), queued, namespace)
    print("\n".join(lines), file=out, flush=True)
    if options.dry_run:
        print("\nnothing was created: --dry-run", file=out)
        return 0
    if not options.yes and not _agreed(queued, namespace, out):
        print("nothing was created", file=out)
        return _DECLINED
    created = _create_all(server, queued, namespace)
    print("\n".join(_report(created, queued)), file=out)
    return 0


def _printed(queued: Queued, form: str) -> str:
    """Return the manifest with what was added to it."""
    if form == "json":
        items = queued.documents
        whole = {"apiVersion": "v1", "kind": "List", "items": items}
        body = msgspec.json.encode(whole if len(items) > 1 else items[0])
        return msgspec.json.format(body).decode()
    import yaml  # noqa: PLC0415 - slow to load

    text: str = yaml.safe_dump_all(queued.documents, sort_keys=False)
    return text.rstrip("\n")


def _forecast(options: Namespace, way: ByService, queued: Queued, namespace: str) -> list[str]:
    """Return the answer of what-if; without an answer the reason, since the job may start anyway.

    Raises:
        UnansweredError: The API server would refuse the manifest.
    """
    trial = manifest.checked(way, queued.documents, namespace)
    notes = [f"Note:     {plain(note)}" for note in queued.notes]
    try:
        body = way.fetch("/v1/what-if", question=trial.body, namespace=namespace)
        answer = trial.add_to(client.parse(body, api.WhatIfResponse))
    except UnansweredError as error:
        return [f"Forecast: none, {sanitize.lines(str(error))}", *notes]
    return [*what_if.what_if(answer, wide=options.output == "wide"), *notes]


def _agreed(queued: Queued, namespace: str, out: TextIO) -> bool:
    """Ask whether the job shall be created."""
    if not sys.stdin.isatty():
        hint = "use --yes to create it without a question, or --dry-run"
        raise UnansweredError(f"standard input is not a terminal: {hint}")
    names = ", ".join(_jobs(queued, namespace))
    print(f"\ncreate {plain(names)}? [y/N] ", end="", file=out, flush=True)
    return sys.stdin.readline().strip().lower() in _YES


def _jobs(queued: Queued, namespace: str) -> Iterator[str]:
    """Yield kind, namespace and name of what makes pods."""
    for document in (queued.documents[place] for place in queued.jobs):
        stated, name = _place(document)
        yield f"{document['kind']} {stated or namespace}/{name}"


def _place(document: Any) -> tuple[str, str]:
    """Return the stated namespace and name of an object; a generated name ends with ``-``."""
    meta = document.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    name = meta.get("name") or meta.get("generateName")
    return str(meta.get("namespace") or ""), str(name or "")


def _create_all(server: ApiServer, queued: Queued, namespace: str) -> list[_Created]:
    """Create the objects in their order; stop at the first that is refused."""
    served, created = Served(server), list[_Created]()
    for document in queued.documents:
        try:
            created.append(_create(served, document, namespace))
        except UnansweredError as error:
            undo = [f"created before: {one}, `kubectl delete {one}` removes it" for one in created]
            raise UnansweredError("\n".join([str(error), *undo])) from error
    return created


def _create(served: Served, document: Any, namespace: str) -> _Created:
    resource = served.find(document["apiVersion"], document["kind"])
    if not isinstance(resource, Resource):
        hint = "install its operator, or correct apiVersion and kind"
        raise UnansweredError(f"{resource.reason}: {hint}")
    stated, name = _place(document)
    place = (stated or namespace) if resource.namespaced else ""
    answer = served.server.ask(resource.collection(place), _QUERY, msgspec.json.encode(document))
    if answer.status == HTTPStatus.CREATED:
        stored = msgspec.json.decode(answer.body)["metadata"]["name"]
        return _Created(resource.name, place, plain(str(stored)))
    wanted = _Created(resource.name, place, name)
    raise UnansweredError(_refusal(wanted, answer.status, answer.body))


def _refusal(wanted: _Created, status: int, body: bytes) -> str:
    where = f" in the namespace {wanted.namespace}" if wanted.namespace else ""
    match errors.from_response(status, body):
        case errors.ForbiddenError() as error if _NO_RIGHT in error.message:
            right = f"you lack the right `create` on `{wanted.resource}`{where}"
            return f"{right}: ask your administrator for it ({error.message})"
        case errors.ConflictError():
            return (
                f"{wanted.resource} {wanted.name} exists{where}: give the new one another name, or "
                f"remove the old one with `kubectl delete {wanted}`"
            )
        case error:
            return f"{wanted.resource} {wanted.name} was refused: {error.message}; correct it"


def _report(created: list[_Created], queued: Queued) -> list[str]:
    job = created[queued.jobs[0]]
    why = f"`shuntyard explain {job.namespace}/{job.name}` shows why it waits"
    return [
        *(f"{one.resource}/{one.name} created" for one in created),
        f"{why}, `shuntyard jobs -n {job.namespace}` all jobs",
    ]

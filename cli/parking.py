"""``shuntyard park``, ``resume`` and ``move``: an annotation on the job's owner, by its user.

The extender parks the job after a checkpoint, and resumes it once the annotation is gone and there
is room; a job that moves has its new places before it leaves. Nothing here suspends anything.
"""

import json
from argparse import Namespace
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TextIO

from cli import api_server
from cli.api_server import ApiServer
from cli.errors import UnansweredError
from shared import labels
from shared.kube import errors, paths, resources
from shared.kube.resources import ResourceKind
from shared.terminal import plain

_KINDS: Final = (
    resources.JOBS,
    resources.STATEFULSETS,
    *(kind for kind in resources.OPTIONAL if kind.kind == "Owner"),
)
_EVERY_NODE: Final = "*"
FORMS: Final = "NAME, KIND/NAME or NAMESPACE/KIND/NAME"
_KNOWN: Final = "JobSet, TrainJob, PyTorchJob …"
_ABSENT: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN})


class _Found(NamedTuple):
    """An object with the job's name.

    Attributes:
        path: Where it is.
        kind: Its kind, as users write it.
        body: As read.
    """

    path: str
    kind: str
    body: dict[str, Any]


def run(options: Namespace, out: TextIO) -> int:
    """Set or remove the annotation once, with the user's rights.

    Raises:
        UnansweredError: There is no such job, or several; or the user may not change it.
    """
    server = api_server.of_options(options)
    stated, kind, name = _split(options.job)
    namespace = stated or options.namespace or server.namespace or "default"
    found = _one(list(_search(server, namespace, kind, name)), options.job, namespace)
    place = f"{found.kind} {plain(namespace)}/{plain(name)}"
    if options.command == "move":
        _write(server, found, labels.MOVE, ",".join(options.left or [_EVERY_NODE]))
        print(f"{place} saves and moves, if its whole gang fits elsewhere", file=out)
        return _see(name, namespace, out)
    parks = options.command == "park"
    if parks == (labels.PARK in (found.body["metadata"].get("annotations") or {})):
        state = "is to be parked already" if parks else "is not parked by hand"
        print(f"{place} {state}: nothing was changed", file=out)
        return 0
    _write(server, found, labels.PARK, "true" if parks else None)
    if parks:
        print(f"{place} is asked to save and leaves after that", file=out)
    else:
        print(f"{place} waits in the queue until there is room for all its pods", file=out)
    return _see(name, namespace, out)


def _see(name: str, namespace: str, out: TextIO) -> int:
    print(f"see `shuntyard explain {plain(name)} -n {plain(namespace)}`", file=out)
    return 0


def _split(text: str) -> tuple[str | None, str, str]:
    """Return namespace, kind and name; the namespace is None and the kind empty if not given."""
    match text.split("/"):
        case [name] if name:
            return None, "", name
        case [kind, name] if kind and name:
            return None, kind, name
        case [namespace, kind, name] if namespace and kind and name:
            return namespace, kind, name
        case _:
            raise UnansweredError(f"{text!r} names no job: expected {FORMS}")


def _search(server: ApiServer, namespace: str, kind: str, name: str) -> Iterator[_Found]:
    """Yield the objects of that name which make pods; an unknown collection has none."""
    for one in _KINDS:
        own = one.source.partition(".")[0]
        if kind and kind.lower() != own.lower():
            continue
        found = _read(server, one, namespace, name)
        if found is not None:
            path, body = found
            yield _Found(path, own, body)


def _read(
    server: ApiServer, kind: ResourceKind, namespace: str, name: str
) -> tuple[str, dict[str, Any]] | None:
    for collection in (kind.path, *kind.later_paths):
        path = paths.namespaced(collection, namespace, name)
        answer = server.ask(path)
        if answer.status == HTTPStatus.OK:
            return path, json.loads(answer.body)
        if answer.status not in _ABSENT:
            raise UnansweredError(_refused("read", path, answer.status, answer.body))
    return None


def _one(found: list[_Found], text: str, namespace: str) -> _Found:
    if not found:
        raise UnansweredError(
            f"there is no job {text} in namespace {namespace} that you may read (Job, {_KNOWN}); "
            f"name it as {FORMS}"
        )
    tops = [one for one in found if not _controller(one.body)]
    if len(tops) > 1:
        names = ", ".join(f"{one.kind.lower()}/{one.body['metadata']['name']}" for one in tops)
        raise UnansweredError(f"several objects have that name: state one of {names}")
    if not tops:
        owner = _controller(found[0].body)
        raise UnansweredError(f"{text} belongs to {owner}: name that")
    return tops[0]


def _controller(body: dict[str, Any]) -> str:
    """Return the kind and name of an object's controller; empty if it has none.

    A CronJob's Job is a job of its own.
    """
    for one in body["metadata"].get("ownerReferences") or ():
        if one.get("controller") and one.get("kind") != "CronJob":
            return f"{str(one['kind']).lower()}/{one['name']}"
    return ""


def _write(server: ApiServer, found: _Found, key: str, text: str | None) -> None:
    """Write the one annotation; its object's controllers may write at the same time."""
    meta = found.body["metadata"]
    body = {
        "metadata": {
            "uid": meta["uid"],
            "annotations": {key: text},
        }
    }
    answer = server.patch(found.path, json.dumps(body).encode())
    if answer.status != HTTPStatus.OK:
        raise UnansweredError(_refused("changed", found.path, answer.status, answer.body))


def _refused(action: str, path: str, status: int, body: bytes) -> str:
    message = errors.from_response(status, body).message.strip()
    return f"{path} cannot be {action}: {message} (status {status})"

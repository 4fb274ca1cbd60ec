"""The manifest of a ``what-if``: read or made of options, and checked by the API server."""

import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from cli import sanitize
from cli.client import Way
from cli.errors import UnansweredError
from shared import labels
from shared.readapi import api
from shared.readapi.explanation import Checked
from shared.terminal import plain

MOST_VALUES: Final = 1_000_000
"""Of a manifest with all that its aliases repeat."""
BY_URL: Final = "asked by --url, without a kubeconfig"
_STDIN: Final = "-"
_CONTENT: Final = frozenset({"ConfigMap", "Secret"})


class Trial(NamedTuple):
    """The question of a what-if.

    Attributes:
        body: The objects, as they are sent.
        checked: Whether the API server has checked them; None where there is no manifest.
    """

    body: bytes
    checked: Checked | None

    @property
    def is_unchecked(self) -> bool:
        """Whether there is a manifest that the API server has not checked."""
        return self.checked is not None and not self.checked.by_api_server

    def add_to(self, answer: api.WhatIfResponse) -> api.WhatIfResponse:
        """Return the extender's answer with what was checked."""
        return replace(answer, checked=self.checked)

    def add_to_json(self, body: bytes) -> bytes:
        """Return an answer's JSON with what was checked; fields unknown to this command stay."""
        answer: Any = msgspec.json.decode(sanitize.raw_json(body))
        return msgspec.json.encode({**answer, "checked": self.checked})


def trial(options: Namespace, way: Way, namespace: str) -> Trial:
    """Return the question of the options, checked by the API server where there is one.

    Raises:
        UnansweredError: The file cannot be read, or the API server would refuse an object of it.
    """
    if not options.file:
        return Trial(_encoded([_from_options(options)]), None)
    return checked(way, read(options.file), namespace)


def checked(way: Way, documents: list[Any], namespace: str) -> Trial:
    """Return the question about some objects, checked by the API server where there is one.

    Raises:
        UnansweredError: The API server would refuse an object.
    """
    if way.api_server is None:
        return Trial(_encoded(documents), Checked(by_api_server=False, reason=BY_URL))
    from cli.dry_run import checking  # noqa: PLC0415 - loaded for a manifest only

    result = checking.check(way.api_server, documents, namespace)
    verdict = replace(result.checked, reason=plain(result.checked.reason))
    return Trial(_encoded(result.documents), verdict)


def read(name: str) -> list[Any]:
    """Return the objects of a manifest, those of a ``List`` one by one; ``-``: standard input.

    Raises:
        UnansweredError: The file cannot be read, or is not YAML.
    """
    import yaml  # noqa: PLC0415 - loaded for a manifest only

    try:
        text = sys.stdin.read() if name == _STDIN else Path(name).read_text()
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
        check_size(documents)
        documents = msgspec.json.decode(msgspec.json.encode(documents))  # without aliases
    except RecursionError as error:
        raise UnansweredError(
            f"cannot read {name}: it is nested too deeply; write it flatter"
        ) from error
    except (OSError, TypeError, UnicodeError, yaml.YAMLError) as error:
        hint = "-f names a manifest in YAML or JSON, - standard input"
        raise UnansweredError(f"cannot read {name}: {error}; {hint}") from error
    if not documents:
        raise UnansweredError(f"{name} holds no object: -f takes what `kubectl apply -f` takes")
    return objects(documents)


def objects(documents: Iterable[Any]) -> list[Any]:
    """Return the objects of some documents, those of a ``List`` one by one."""
    return [item for document in documents for item in _items(document)]


def check_size(document: Any) -> None:
    """Check that a YAML document is a tree, and not too large with its aliases written out.

    Raises:
        UnansweredError: An alias contains itself, or aliases repeat too much.
    """
    if _values(document, {}) > MOST_VALUES:
        text = f"the manifest repeats itself to more than {MOST_VALUES} values"
        raise UnansweredError(f"{text}: write it without aliases")


def _values(document: Any, counted: dict[int, int]) -> int:
    """Return how many values a document holds; each shared part is counted once and reused."""
    if not isinstance(document, dict | list):
        return 1
    if id(document) not in counted:
        counted[id(document)] = MOST_VALUES + 1  # a part that contains itself has no end
        parts = document.values() if isinstance(document, dict) else document
        counted[id(document)] = 1 + sum(_values(part, counted) for part in parts)
    return counted[id(document)]


def _items(document: Any) -> list[Any]:
    if not isinstance(document, dict) or document.get("kind") != "List":
        return [document]
    items = document.get("items")
    return items if isinstance(items, list) and items else [document]


def _encoded(documents: list[Any]) -> bytes:
    """Return objects as one JSON body; the content of Secrets and ConfigMaps is left out."""
    sent = [_without_content(document) for document in documents]
    if len(sent) == 1:
        return msgspec.json.encode(sent[0])
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": sent})


def _without_content(document: Any) -> Any:
    if not isinstance(document, dict) or document.get("kind") not in _CONTENT:
        return document
    kept = {key: document[key] for key in ("apiVersion", "kind") if key in document}
    meta = document.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else None
    return {**kept, "metadata": {"name": name}}


def _from_options(options: Namespace) -> dict[str, Any]:
    """Return a Job, or with parameter servers a TFJob: the simplest kinds that can express it."""
    meta = {"name": options.name}
    if not options.servers:
        spec = {"parallelism": options.workers, "completions": options.workers}
        template = _template(options, options.gpu)
        indexed = {**spec, "completionMode": "Indexed", "template": template}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": indexed}
    roles = {
        "PS": {"replicas": options.servers, "template": _template(options, None)},
        "Worker": {"replicas": options.workers, "template": _template(options, options.gpu)},
    }
    spec = {"tfReplicaSpecs": roles}
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": meta, "spec": spec}


def _template(options: Namespace, gpus: int | None) -> dict[str, Any]:
    requests = {"cpu": options.cpu, "memory": options.memory, options.gpu_resource: gpus}
    annotations = {
        labels.EXPECTED_DURATION: options.duration,
        labels.MAX_WAIT: options.max_wait,
        labels.MIN_AVAILABLE: options.min_available,
    }
    resources = {"requests": _given(requests)}
    return {
        "metadata": {"annotations": _given(annotations)},
        "spec": {
            "schedulerName": labels.SCHEDULER_NAME,
            "containers": [{"name": "main", "resources": resources}],
            **_given({"priorityClassName": options.priority_class}),
        },
    }


def _given(values: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}

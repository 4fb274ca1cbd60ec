"""What ``shuntyard what-if`` asks about: a file's objects, or one made of a few words."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

import msgspec

from cli import harmless
from cli.errors import UnansweredError
from shared import labels

_STDIN: Final = "-"
_CONTENT: Final = frozenset({"ConfigMap", "Secret"})


def of(asked: Namespace) -> list[Any]:
    """Return the objects of the manifest; those of a ``List`` one by one.

    Raises:
        UnansweredError: The file cannot be read, or is no YAML.
    """
    return _of_file(asked.file) if asked.file else [_of_words(asked)]


def encoded(documents: list[Any]) -> bytes:
    """Return objects as one JSON body; what is in Secrets and ConfigMaps stays here."""
    sent = [_without_content(one) for one in documents]
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


def _of_file(name: str) -> list[Any]:
    import yaml  # noqa: PLC0415 - only who gives a file waits for it

    try:
        text = sys.stdin.read() if name == _STDIN else Path(name).read_text()
        documents = [one for one in yaml.safe_load_all(text) if one is not None]
        harmless.check_size(documents)
        documents = msgspec.json.decode(msgspec.json.encode(documents))  # without aliases
    except RecursionError as error:
        raise UnansweredError(f"cannot read {name}: it is nested too deeply") from error
    except (OSError, TypeError, UnicodeError, yaml.YAMLError) as error:
        raise UnansweredError(f"cannot read {name}: {error}") from error
    if not documents:
        raise UnansweredError(f"{name} holds no object")
    return [one for document in documents for one in _single(document)]


def _single(document: Any) -> list[Any]:
    if not isinstance(document, dict) or document.get("kind") != "List":
        return [document]
    items = document.get("items")
    return items if isinstance(items, list) and items else [document]


def _of_words(asked: Namespace) -> dict[str, Any]:
    """Return a Job, or with parameter servers a TFJob: the simplest kinds that say it all."""
    meta = {"name": asked.name}
    if not asked.servers:
        spec = {"parallelism": asked.workers, "completions": asked.workers}
        indexed = {**spec, "completionMode": "Indexed", "template": _template(asked, asked.gpu)}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": indexed}
    roles = {
        "PS": {"replicas": asked.servers, "template": _template(asked, None)},
        "Worker": {"replicas": asked.workers, "template": _template(asked, asked.gpu)},
    }
    spec = {"tfReplicaSpecs": roles}
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": meta, "spec": spec}


def _template(asked: Namespace, gpus: int | None) -> dict[str, Any]:
    requests = {"cpu": asked.cpu, "memory": asked.memory, asked.gpu_resource: gpus}
    stated = {
        labels.EXPECTED_DURATION: asked.duration,
        labels.MAX_WAIT: asked.max_wait,
        labels.MIN_AVAILABLE: asked.min_available,
    }
    resources = {"requests": _said(requests)}
    return {
        "metadata": {"annotations": _said(stated)},
        "spec": {
            "schedulerName": labels.SCHEDULER_NAME,
            "containers": [{"name": "main", "resources": resources}],
            **_said({"priorityClassName": asked.priority_class}),
        },
    }


def _said(values: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}

"""The patch formats: merge (RFC 7386), JSON (RFC 6902), strategic for the lists that we patch."""

from typing import Any

from tests.fakes.kube_errors import Refusal
from tests.fakes.kube_store import copied

MERGE_KEYS = {
    "schedulingGates": "name",
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "taints": "key",
    "volumes": "name",
}


def apply(current: Any, patch: Any, content_type: str) -> Any:
    """Return the patched copy of ``current``."""
    match content_type:
        case "application/merge-patch+json" | "application/apply-patch+yaml":
            return _merged(current, patch)
        case "application/strategic-merge-patch+json":
            return _strategic(current, patch)
        case "application/json-patch+json":
            return _json_patched(current, patch)
        case _:
            why = f"the media type {content_type} is not supported"
            raise Refusal(415, "UnsupportedMediaType", why)


def _merged(current: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copied(patch)
    result = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


def _strategic(current: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return copied(patch)
    result = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, list) and key in MERGE_KEYS:
            result[key] = _strategic_list(result.get(key) or [], value, MERGE_KEYS[key])
        else:
            result[key] = _strategic(result.get(key), value)
    return result


def _strategic_list(current: list[Any], patch: list[Any], by: str) -> list[Any]:
    result = {item[by]: item for item in current}
    for change in patch:
        if change.get("$patch") == "delete":
            result.pop(change[by], None)
        else:
            result[change[by]] = _strategic(result.get(change[by]), change)
    return list(result.values())


def _json_patched(current: Any, operations: list[dict[str, Any]]) -> Any:
    result = copied(current)
    for operation in operations:
        _operate(result, operation)
    return result


def _operate(root: Any, operation: dict[str, Any]) -> None:
    *parents, last = [
        part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
    ]
    place = root
    try:
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        key: Any = last
        if isinstance(place, list):
            key = len(place) if last == "-" else int(last)
        _change(place, key, operation)
    except (KeyError, IndexError) as error:
        raise Refusal(422, "Invalid", f"the path {operation['path']} does not exist") from error


def _change(place: Any, key: Any, operation: dict[str, Any]) -> None:
    match operation["op"]:
        case "test":
            if place[key] != operation["value"]:
                raise Refusal(422, "Invalid", f"testing value {operation['path']} failed")
        case "remove":
            del place[key]
        case "add" if isinstance(place, list):
            place.insert(key, operation["value"])
        case "add":
            place[key] = operation["value"]
        case "replace":
            _ = place[key]
            place[key] = operation["value"]
        case other:
            raise Refusal(400, "BadRequest", f"unexpected kind of operation: {other}")

"""What changed between two answers of a list, as the page is sent it (pure).

A frame is a JSON object::

    list      name of the list
    whole     true: forget what you have, these are all entries
    head      the fields of the answer but its entries, ``generated_at`` among them
    set       by key: an entry that is new
    patch     by key: the fields of an entry that changed
    gone      keys of entries that are not listed any more
    after     by key of a new entry, in order: the key of the entry before it; "" for the first
    order     all keys in their order, if entries that stayed changed places; then without ``after``
    more      true: further entries follow at once, and nothing is to be shown before them

A long list comes in several frames, so that a browser is not busy with one for long.

A key names an entry: ``namespace/kind/job`` for a job, else its namespace or name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shared.readapi import api

MOST_ENTRIES: Final = 250
"""Of one frame of a whole list: a browser reads as many in some milliseconds."""
_NAMES: Final = ("namespace", "kind", "job", "name")
_ENCODER: Final = msgspec.json.Encoder()


@dataclass(frozen=True)
class Listing:
    """A list at one moment.

    Attributes:
        name: Of the list.
        head: The fields of the answer but its entries.
        entries: By key, in order; a struct, or what its JSON has where names were removed.
    """

    name: str
    head: Mapping[str, Any] = field(default_factory=dict)
    entries: Mapping[str, Any] = field(default_factory=dict)


def steady(body: Any) -> Any:
    """Return an answer without the fields that change at every moment, which the page ignores."""
    match body:
        case api.QueueResponse(entries=entries):
            return replace(body, entries=tuple(replace(e, waited_seconds=0.0) for e in entries))
        case api.NodesResponse(entries=nodes):
            return replace(body, entries=tuple(map(_steady_node, nodes)))
        case _:
            return body


def _steady_node(node: api.NodeEntry) -> api.NodeEntry:
    if node.agent is None:
        return node
    return replace(node, agent=replace(node.agent, age_seconds=0.0, use=None))


def listing(name: str, body: Any) -> Listing:
    """Return the listing of an answer: a struct, or a mapping ready for JSON."""
    if isinstance(body, Struct):
        found = getattr(body, "entries", ())
        head = msgspec.to_builtins(replace(body, entries=()))
        return Listing(name, _without_entries(head), {_key(entry): entry for entry in found})
    entries = {"/".join(entry[n] for n in _NAMES if n in entry): entry for entry in body["entries"]}
    return Listing(name, _without_entries(body), entries)


def whole(now: Listing) -> list[bytes]:
    """Return the frames that give a new reader the list."""
    keys = list(now.entries)
    starts = range(0, max(1, len(keys)), MOST_ENTRIES)
    return [_ENCODER.encode(_part_of_whole(now, keys, start)) for start in starts]


def _part_of_whole(now: Listing, keys: Sequence[str], start: int) -> dict[str, Any]:
    """Return the frame with the entries from ``start`` on."""
    part = keys[start : start + MOST_ENTRIES]
    added = {key: now.entries[key] for key in part}
    more = {"more": True} if start + MOST_ENTRIES < len(keys) else {}
    frame = {"list": now.name, "head": now.head, "set": added, **more}
    if start == 0:
        return frame | {"whole": True, "order": part}
    return frame | {"after": dict(zip(part, keys[start - 1 :], strict=False))}


def difference(before: Listing, now: Listing) -> bytes | None:
    """Return the frame that leads from one listing to the next; None if only the time differs."""
    old, new = before.entries, now.entries
    added = {key: entry for key, entry in new.items() if key not in old}
    gone = [key for key in old if key not in new]
    patches = {key: _changed(old[key], new[key]) for key in new if _differs(key, old, new)}
    moved = [key for key in old if key in new] != [key for key in new if key in old]
    if not (added or gone or patches or moved or _timeless(before.head) != _timeless(now.head)):
        return None
    frame: dict[str, Any] = {"list": now.name, "head": now.head}
    place: dict[str, Any] = {"order": list(new)} if moved else {"after": _before_each(added, new)}
    parts = {"set": added, "patch": patches, "gone": gone, **place}
    return _ENCODER.encode(frame | {name: part for name, part in parts.items() if part})


def problem(name: str, status: int, text: str) -> bytes:
    """Return the frame that says why a list is not shown."""
    return _ENCODER.encode({"list": name, "problem": text, "status": status})


def _before_each(added: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """Return for each added key, in order, the key before it."""
    pairs = zip(chain([""], new), new, strict=False)
    return {key: last for last, key in pairs if key in added}


def _differs(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return key in old and old[key] is not new[key] and bool(old[key] != new[key])


def _changed(old: Any, new: Any) -> dict[str, Any]:
    """Return the fields of an entry that changed; a field that was left out now is null."""
    before, now = msgspec.to_builtins(old), msgspec.to_builtins(new)
    changed = {name: value for name, value in now.items() if before.get(name) != value}
    return changed | {name: None for name in before if name not in now}


def _key(entry: Any) -> str:
    return "/".join(getattr(entry, name) for name in _NAMES if hasattr(entry, name))


def _without_entries(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "entries"}


def _timeless(head: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in head.items() if name != "generated_at"}

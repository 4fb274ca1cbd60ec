"""The JSON of the scheduler extender, version 1, as kube-scheduler speaks it.

The Go structs carry no JSON tags: keys are the Go field names, and absent values are ``null``. Go
reads keys without regard to case, so we do too; what we write has Go's own spelling. Pods and nodes
stay raw here; nodes are handed back byte for byte.

Source:
    k8s.io/kube-scheduler/extender/v1 ``types.go`` (unchanged since 2022).
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from extender.core.scheduler.binding import CallError
from extender.core.scheduler.filtering import FilterVerdict
from shared.errors import InputError
from shared.kube import parse
from shared.kube.errors import OddObjectError
from shared.model import Pod

_Body = TypeVar("_Body", bound=Struct)
_Value = TypeVar("_Value")


class NodeList(Struct, frozen=True, omit_defaults=True):
    """A ``v1.NodeList`` whose nodes are kept as they came."""

    items: Sequence[Raw] | None
    metadata: Raw = Raw(b"{}")


class ExtenderArgs(
    Struct, frozen=True, rename={"pod": "Pod", "nodes": "Nodes", "node_names": "NodeNames"}
):
    """Body of filter and prioritize; ``node_names`` under nodeCacheCapable, else ``nodes``."""

    pod: Raw
    nodes: NodeList | None = None
    node_names: tuple[str, ...] | None = None


class ExtenderBindingArgs(
    Struct,
    frozen=True,
    rename={"name": "PodName", "namespace": "PodNamespace", "uid": "PodUID", "node": "Node"},
):
    """Body of bind."""

    name: str
    namespace: str
    uid: str
    node: str


class ExtenderFilterResult(
    Struct,
    frozen=True,
    rename={
        "nodes": "Nodes",
        "node_names": "NodeNames",
        "failed": "FailedNodes",
        "unresolvable": "FailedAndUnresolvableNodes",
        "error": "Error",
    },
):
    """Answer to filter, in the form of the request."""

    nodes: NodeList | None
    node_names: Sequence[str] | None
    failed: Mapping[str, str]
    unresolvable: Mapping[str, str] | Raw
    error: str


class HostPriority(Struct, frozen=True, rename={"host": "Host", "score": "Score"}):
    """One entry of the answer to prioritize."""

    host: str
    score: int


class ExtenderBindingResult(Struct, frozen=True, rename={"error": "Error"}):
    """Answer to bind; an empty error is success."""

    error: str


class _NodeMetadata(Struct, frozen=True):
    name: str


class _Node(Struct, frozen=True):
    metadata: _NodeMetadata


class Offer(Struct, frozen=True):
    """A filter or prioritize call, parsed.

    Attributes:
        pod: The pod to be placed.
        names: The offered nodes, in the order of the request.
        listed: The request's own list where it held whole nodes; None for names only.
    """

    pod: Pod
    names: tuple[str, ...]
    listed: NodeList | None = None


_ARGS: Final = msgspec.json.Decoder(ExtenderArgs)
_BINDING_ARGS: Final = msgspec.json.Decoder(ExtenderBindingArgs)
_OBJECT: Final = msgspec.json.Decoder(dict[str, Raw])
_NODE: Final = msgspec.json.Decoder(_Node)
_ENCODER: Final = msgspec.json.Encoder()


def read_offer(body: bytes) -> Offer:
    """Parse the body of a filter or prioritize call.

    Raises:
        InputError: The body cannot be read; names the field.
    """
    args = _read(_ARGS, ExtenderArgs, body)
    pod = _read_pod(args.pod)
    if args.nodes is None or args.node_names is not None:
        return Offer(pod, args.node_names or ())
    items = args.nodes.items or ()
    return Offer(pod, tuple(_read_name(i, item) for i, item in enumerate(items)), args.nodes)


def read_binding(body: bytes) -> ExtenderBindingArgs:
    """Parse the body of a bind call.

    Raises:
        InputError: The body cannot be read; names the field.
    """
    return _read(_BINDING_ARGS, ExtenderBindingArgs, body)


def write_verdict(offer: Offer, verdict: FilterVerdict) -> bytes:
    """Return the answer to filter: in the form of the request, with no name it did not hold."""
    names = None if offer.listed else _passed(offer.names, verdict.passed)
    nowhere = _everywhere(offer.names, verdict.nowhere) if verdict.nowhere else None
    result = ExtenderFilterResult(
        nodes=_kept(offer, frozenset(verdict.passed)) if offer.listed else None,
        node_names=names,
        failed=_of(offer.names, verdict.failed.items()),
        unresolvable=nowhere or _of(offer.names, verdict.unresolvable.items()),
        error="" if verdict.error is None else verdict.error.text,
    )
    return _ENCODER.encode(result)


def write_scores(offer: Offer, scores: Iterable[tuple[str, int]]) -> bytes:
    """Return the answer to prioritize, with no name the request did not hold."""
    kept = _of(offer.names, scores)
    return _ENCODER.encode([HostPriority(name, score) for name, score in kept.items()])


def write_binding(error: CallError | None) -> bytes:
    """Return the answer to bind; its error is empty where it succeeded."""
    return _ENCODER.encode(ExtenderBindingResult("" if error is None else error.text))


def _read(decoder: msgspec.json.Decoder[_Body], kind: type[_Body], body: bytes) -> _Body:
    """Read a body; a second time, with its keys as Go spells them, where it seems to lack some."""
    try:
        with contextlib.suppress(msgspec.ValidationError):
            if not _lacks_nodes(parsed := decoder.decode(body)):
                return parsed
        return decoder.decode(_in_gos_spelling(kind, body))
    except ValueError as error:  # no such JSON, or no UTF-8
        raise InputError("body", _excerpt(body), f"{kind.__name__}: {error}") from error
    except RecursionError as error:
        raise InputError("body", _excerpt(body), "nested less deeply") from error


def _lacks_nodes(body: Struct) -> bool:
    """Return True if it names no nodes in either form; kube-scheduler sends no such body."""
    return isinstance(body, ExtenderArgs) and body.nodes is None and body.node_names is None


def _in_gos_spelling(kind: type[Struct], body: bytes) -> bytes:
    """Return the body with its keys as Go spells them."""
    spelling = {name.lower(): name for name in kind.__struct_encode_fields__}
    fields = _OBJECT.decode(body)
    return _ENCODER.encode({spelling.get(key.lower(), key): value for key, value in fields.items()})


def _read_pod(raw: Raw) -> Pod:
    try:
        return parse.decode_pod(raw)
    except OddObjectError as error:
        raise InputError("Pod", _excerpt(bytes(raw)), f"a v1.Pod: {error.problem}") from error


def _read_name(position: int, raw: Raw) -> str:
    try:
        return _NODE.decode(raw).metadata.name
    except (ValueError, RecursionError) as error:
        field = f"Nodes.items[{position}]"
        raise InputError(field, _excerpt(bytes(raw)), f"a v1.Node: {error}") from error


def _passed(offered: Sequence[str], passed: Sequence[str]) -> Sequence[str]:
    """Return what passed and was offered, in the order of the offer."""
    if len(passed) <= 1:  # of thousands of names mostly one: no loop over the others
        return [name for name in passed if name in offered]
    names = frozenset(passed)
    return [name for name in offered if name in names]


def _kept(offer: Offer, passed: frozenset[str]) -> NodeList:
    listed = offer.listed or NodeList(())
    items = zip(offer.names, listed.items or (), strict=True)
    return NodeList([raw for name, raw in items if name in passed], listed.metadata)


def _of(names: Iterable[str], pairs: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    values = dict(pairs)
    offered = frozenset(names) if values else frozenset()  # there are thousands, and often no pair
    return {name: value for name, value in values.items() if name in offered}


def _everywhere(names: Sequence[str], message: str) -> Raw:
    """Return the JSON of a map from every name to one message, without making the map.

    Inside an encoded name no ``","`` can stand: its quotes are escaped.
    """
    if not names:
        return Raw(b"{}")
    value = b":" + _ENCODER.encode(message)
    listed = _ENCODER.encode(names)[1:-1]
    return Raw(b"{" + listed.replace(b'","', b'"' + value + b',"') + value + b"}")


def _excerpt(body: bytes, most: int = 80) -> str:
    text = body[: most + 1].decode(errors="replace")
    return text if len(text) <= most else f"{text[:most]}…"

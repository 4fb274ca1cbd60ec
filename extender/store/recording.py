"""The decision log: one JSON line a record, and its replay. Lines in, lines out, no files.

A segment starts with a ``Header`` and a ``Checkpoint``, so that each kept segment replays alone.
After them come, in the order in which they happened, all changes of the store and all
decisions. A line without its end was being written when the process died; it is skipped.

::

    ShuntyardError
    └── RecordingError      a decision log cannot be replayed
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from extender.core.agents import heartbeats
from extender.core.agents.heartbeats import NodeHeartbeat
from extender.core.cluster.snapshot import PlaceholderReservations, Snapshot
from extender.store.assumed import Assumption
from extender.store.source import Content
from extender.store.store import ClusterStore
from shared.errors import ShuntyardError
from shared.model import Delta, JobKey, Uid


class RecordingError(ShuntyardError):
    """A log cannot be replayed; names the line."""


__all__ = [
    "VERSION",
    "AssumptionRecord",
    "Checkpoint",
    "DecisionRecord",
    "DeltaRecord",
    "Difference",
    "DropPlaceholdersRecord",
    "ExpireRecord",
    "ForgetRecord",
    "Header",
    "KeepPlaceholdersRecord",
    "Record",
    "RecordingError",
    "ReportRecord",
    "TakePlaceholderRecord",
    "UnpromiseRecord",
    "decode",
    "encode",
    "opening",
    "opening_pieces",
    "redo",
    "replay",
]


VERSION: Final = 4
"""Of the line format; a log of another version is refused. 4: one form for all decisions."""

PIECE: Final = 32
"""Objects of a ``Checkpoint`` that are encoded at a time, while nothing else of Python runs: some
40 kB of common pods, 0.1 ms."""


class Header(Struct, frozen=True, tag=True):
    """Which rules and parameters decided.

    ``lost`` is how many records, at least, were dropped between the segment before and this one;
    above 0 there is a gap in the log, and the decisions in it are not known.
    """

    version: int
    parameters_hash: str
    scheduler_name: str
    lost: int = 0


class Checkpoint(Struct, frozen=True, tag=True):
    """Everything the store held."""

    content: Content


class DeltaRecord(Struct, frozen=True, tag=True):
    """Something was observed."""

    delta: Delta


class AssumptionRecord(Struct, frozen=True, tag=True):
    """We wrote something and assume it."""

    assumption: Assumption


class ForgetRecord(Struct, frozen=True, tag=True):
    """A write failed."""

    uid: Uid


class ExpireRecord(Struct, frozen=True, tag=True):
    """Assumptions made earlier than ``before`` were dropped."""

    before: float


class KeepPlaceholdersRecord(Struct, frozen=True, tag=True):
    """Placeholders are kept for members of a direct gang that do not exist yet."""

    kept: PlaceholderReservations


class DropPlaceholdersRecord(Struct, frozen=True, tag=True):
    """The placeholders of a job are dropped."""

    job: JobKey


class TakePlaceholderRecord(Struct, frozen=True, tag=True):
    """A pod takes a placeholder."""

    job: JobKey
    number: int
    uid: Uid
    at: float


class UnpromiseRecord(Struct, frozen=True, tag=True):
    """A promised reservation is withdrawn."""

    uid: Uid


PlaceholderRecord = (
    KeepPlaceholdersRecord | DropPlaceholdersRecord | TakePlaceholderRecord | UnpromiseRecord
)


class ReportRecord(Struct, frozen=True, tag=True):
    """An agent reported; ``heartbeats.for_the_log`` leaves out what is not needed."""

    heartbeat: NodeHeartbeat


class DecisionRecord(Struct, frozen=True, tag=True, kw_only=True):
    """A decision: its generation, time, input and output.

    ``input`` and ``output`` are plain JSON: what the decision was given beside the snapshot, and
    what it returned.
    """

    kind: str
    generation: int
    now: float
    input: Any
    output: Any


Record = (
    Header
    | Checkpoint
    | DeltaRecord
    | AssumptionRecord
    | ForgetRecord
    | ExpireRecord
    | PlaceholderRecord
    | ReportRecord
    | DecisionRecord
)


@dataclass(frozen=True)
class Difference:
    """A recorded decision that does not replay.

    Attributes:
        line: Its number, from 1.
        what: ``generation`` (records before it are missing) or ``output``.
        recorded: What the log has.
        replayed: What was decided now.
    """

    line: int
    what: Literal["generation", "output"]
    recorded: Any
    replayed: Any


_encoder: Final = msgspec.json.Encoder()
_ROWS: Final = Content.__struct_fields__[2:]
"""Of ``Content``: tuples, after the name and the generation."""

_decoder: Final = msgspec.json.Decoder(Record)


def encode(record: Record) -> bytes:
    """Return the record as one line, with its end."""
    return _encoder.encode(record) + b"\n"


def decode(line: bytes) -> Record:
    """Return the record of one line.

    Raises:
        RecordingError: It is not a record.
    """
    try:
        record: Record = _decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise RecordingError(f"{error}: {line[:80]!r}") from error
    return record


def opening(content: Content, parameters_hash: str, lost: int = 0) -> bytes:
    """Return the two lines that start a segment."""
    return b"".join(opening_pieces(content, parameters_hash, lost))


def opening_pieces(content: Content, parameters_hash: str, lost: int = 0) -> Iterator[bytes]:
    """Yield ``opening`` piece by piece, none of which takes long: it may be 100 MB."""
    yield encode(Header(VERSION, parameters_hash, content.scheduler_name, lost))
    name, generation = (_encoder.encode(x) for x in (content.scheduler_name, content.generation))
    begin = b'{"type":"Checkpoint","content":{"scheduler_name":%b,"generation":%b'
    yield begin % (name, generation)
    for field in _ROWS:
        rows = getattr(content, field)
        yield b',"%b":[' % field.encode()
        for at in range(0, len(rows), PIECE):
            yield (b"," if at else b"") + _encoder.encode(rows[at : at + PIECE])[1:-1]
        yield b"]"
    yield b"}}\n"


def replay(
    lines: Iterable[bytes], decide: Callable[[Snapshot, DecisionRecord], Any]
) -> Iterator[Difference]:
    """Rebuild the store line by line, decide again where it was decided, yield what differs.

    Args:
        lines: Of one or more segments, oldest first, with their ends.
        decide: Gives the output of a decision as something ``msgspec`` can write.

    Raises:
        RecordingError: A line is not a record, of another version, or before any checkpoint.
    """
    store: ClusterStore | None = None
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            continue
        record = decode(line)
        if isinstance(record, Header):
            _check_version(record)
        elif isinstance(record, Checkpoint):
            store = ClusterStore.restore(record.content)
        elif store is None:
            raise RecordingError(f"line {number} comes before any checkpoint")
        elif isinstance(record, DecisionRecord):
            yield from _differences(number, record, store.snapshot(), decide)
        else:
            redo(store, record)


def _check_version(header: Header) -> None:
    if header.version != VERSION:
        raise RecordingError(f"log of version {header.version}; this program reads {VERSION}")


def redo(
    store: ClusterStore,
    record: DeltaRecord
    | AssumptionRecord
    | ForgetRecord
    | ExpireRecord
    | PlaceholderRecord
    | ReportRecord,
) -> None:
    """Repeat on the store the change that a record holds."""
    match record:
        case DeltaRecord(delta=delta):
            store.apply(delta)
        case AssumptionRecord(assumption=assumption):
            store.assume(assumption)
        case ForgetRecord(uid=uid):
            store.forget(uid)
        case ExpireRecord(before=before):
            store.expire(before)
        case ReportRecord(heartbeat=heartbeat):
            store.report(heartbeats.merged(store.reported(heartbeat.node), heartbeat))
        case _:
            _redo_placeholders(store, record)


def _redo_placeholders(store: ClusterStore, record: PlaceholderRecord) -> None:
    match record:
        case KeepPlaceholdersRecord(kept=kept):
            store.keep_placeholders(kept)
        case DropPlaceholdersRecord(job=job):
            store.drop_placeholders(job)
        case TakePlaceholderRecord(job=job, number=number, uid=uid, at=at):
            store.take_placeholder(job, number, uid, at=at)
        case UnpromiseRecord(uid=uid):
            store.unpromise(uid)


def _differences(
    line: int,
    record: DecisionRecord,
    snapshot: Snapshot,
    decide: Callable[[Snapshot, DecisionRecord], Any],
) -> Iterator[Difference]:
    if snapshot.generation != record.generation:
        yield Difference(line, "generation", record.generation, snapshot.generation)
    replayed = msgspec.json.decode(_encoder.encode(decide(snapshot, record)))
    if replayed != record.output:
        yield Difference(line, "output", record.output, replayed)

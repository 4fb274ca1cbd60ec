"""Builds the body of a heartbeat, every value within the limits of the wire format."""

import logging
from typing import Final, cast

import msgspec

from agent.reporting.outbox import Message
from shared import wire
from shared.progress import Checkpoint, PodReport

MOST_TEXT: Final = 1024
"""Characters of a text: the limit of the wire format."""
MOST_TEXT_BYTES: Final = 1024
"""Bytes of a text: 1024 characters of Chinese would be 3 KiB, in each of five texts of a pod."""
MOST_DETAIL_BYTES: Final = 256
"""Bytes of an event's detail; there may be a thousand events."""

log = logging.getLogger(__name__)


def heartbeat(
    message: Message, *, node: str, boot: str, sent_at: float, dropped: int
) -> wire.Heartbeat:
    """Return the body of a message, to be encoded: its pods already are.

    Args:
        message: The content.
        node: Name of our node.
        boot: Id of this run of the agent.
        sent_at: Seconds since the epoch.
        dropped: Events dropped since the agent started.
    """
    return wire.Heartbeat(
        node=node,
        boot=boot,
        sequence=message.sequence,
        sent_at=sent_at,
        full=message.full,
        use=message.state.use,
        cpu_cores=message.state.cpu_cores,
        gpus=message.state.gpus,
        pods=cast("tuple[PodReport, ...]", tuple(map(_pod, message.changed))),
        gone=message.gone,
        events=message.events,
        dropped=dropped,
    )


def event(uid: str, at: float, kind: wire.Happening, detail: str = "") -> wire.Event:
    """Return an event; ``at`` in seconds since the epoch."""
    return wire.Event(uid=uid, at=at, kind=kind, detail=clipped(detail, MOST_DETAIL_BYTES))


def clipped(text: str, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return the text within the limits of the wire format: Unicode, and not too long."""
    if text.isascii():
        return text if len(text) <= most_bytes else f"{text[: most_bytes - 3]}…"
    encoded = text[:MOST_TEXT].encode(errors="replace")
    if len(encoded) <= most_bytes and len(text) <= MOST_TEXT:
        return encoded.decode()
    return f"{encoded[: most_bytes - 3].decode(errors='ignore')}…"


def _pod(report: PodReport) -> msgspec.Raw:
    """Return a pod's report as JSON within the limits; one beyond must not block the others.

    It is decoded as the extender does that: a number that is not finite is lost, or refused where
    the field needs one.
    """
    try:
        encoded = wire.encode(_clipped(report))
        wire.decode(PodReport, encoded)
    except (msgspec.MsgspecError, OverflowError) as error:
        problem = clipped(f"it cannot be reported: {error}")
        log.error("pod %s: %s", report.uid, problem)  # noqa: TRY400 - the text says it all
        encoded = wire.encode(PodReport(uid=report.uid, problem=problem))
    return msgspec.Raw(encoded)


def _clipped(report: PodReport) -> PodReport:
    problem, checkpoint = clipped(report.problem), _checkpoint(report.checkpoint)
    if problem == report.problem and checkpoint is report.checkpoint:  # nearly always
        return report
    return msgspec.structs.replace(report, problem=problem, checkpoint=checkpoint)


def _checkpoint(checkpoint: Checkpoint | None) -> Checkpoint | None:
    if checkpoint is None:
        return None
    detail, path = clipped(checkpoint.detail), clipped(checkpoint.path)
    if (detail, path) == (checkpoint.detail, checkpoint.path):
        return checkpoint
    return msgspec.structs.replace(checkpoint, detail=detail, path=path)

"""JSON of agents (``shared.wire``): parse bodies, build answers; errors name fields by path."""

import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from aiohttp import hdrs, web
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from extender.core.agents.heartbeats import NodeHeartbeat
from extender.core.agents.requests import Ask, Cancel
from extender.servers.agents import bodies
from shared import wire
from shared.model import NodeName, Uid

_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_MOST_PROBLEMS: Final = 20
_MOST_SHOWN: Final = 80
_MOST_REASON: Final = 1024
"""Longest text that ``shared.wire`` allows."""


def unpacked(body: bytes, encoding: str, most_bytes: int) -> bytes:
    """Return a body without its content encoding: none or gzip.

    Args:
        body: As it came.
        encoding: The header ``Content-Encoding``.
        most_bytes: Largest size; no more than that is ever unpacked.

    Raises:
        HTTPUnsupportedMediaType: Another encoding.
        HTTPBadRequest: Not gzip, or truncated.
        HTTPRequestEntityTooLarge: It is larger than ``most_bytes``.
    """
    if encoding.strip().lower() in {"", "identity"}:
        return body
    if encoding.strip().lower() != "gzip":
        text = f"Content-Encoding: expected gzip or none, found {_shown(encoding)}"
        raise web.HTTPUnsupportedMediaType(text=text, headers={hdrs.ACCEPT_ENCODING: "gzip"})
    inflater = zlib.decompressobj(_GZIP_WINDOW)
    try:
        content = inflater.decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise web.HTTPBadRequest(text=f"body: expected gzip: {error}") from error
    if len(content) > most_bytes:
        raise web.HTTPRequestEntityTooLarge(most_bytes)
    if not inflater.eof or inflater.unused_data:
        raise web.HTTPBadRequest(text="body: expected one whole gzip member")
    return content


def read_heartbeat(body: bytes) -> wire.Heartbeat:
    """Return the heartbeat that a body holds.

    Raises:
        HTTPBadRequest: It holds none; the text has a line for each bad field.
    """
    try:
        checked = bodies.HEARTBEAT.model_validate_json(body)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise web.HTTPBadRequest(text="".join(_lines(problems))) from error
    return msgspec.convert(checked, wire.Heartbeat, from_attributes=True)


def node_heartbeat(heartbeat: wire.Heartbeat, received_at: float) -> NodeHeartbeat:
    """Convert a heartbeat for the core; ``received_at`` is the monotonic second."""
    return NodeHeartbeat(
        node=NodeName(heartbeat.node),
        boot=heartbeat.boot,
        sequence=heartbeat.sequence,
        sent_at=heartbeat.sent_at,
        received_at=received_at,
        full=heartbeat.full,
        use=heartbeat.use,
        cpu_cores=heartbeat.cpu_cores,
        gpus=heartbeat.gpus,
        pods=heartbeat.pods,
        gone=tuple(Uid(uid) for uid in heartbeat.gone),
        dropped=heartbeat.dropped,
    )


def answer(
    commands: Iterable[Ask | Cancel], *, acting: bool, full_wanted: bool
) -> wire.HeartbeatAnswer:
    """Build the answer to a heartbeat."""
    return wire.HeartbeatAnswer(
        acting=acting,
        full_wanted=full_wanted,
        commands=tuple(_command(command) for command in commands),
    )


def _command(command: Ask | Cancel) -> wire.CheckpointRequest | wire.CheckpointCancel:
    match command:
        case Ask():
            return wire.CheckpointRequest(
                id=command.id,
                uid=command.uid,
                deadline=command.deadline,
                hold_deadline=command.hold_deadline,
                reason=command.reason[:_MOST_REASON],
            )
        case Cancel():
            return wire.CheckpointCancel(id=command.id, uid=command.uid)


def _lines(problems: list[ErrorDetails]) -> Iterator[str]:
    for problem in problems[:_MOST_PROBLEMS]:
        field = ".".join(str(part) for part in problem["loc"]) or "body"
        expected = problem["msg"].replace("Input should be", "expected", 1)
        yield f"{_shown(field)}: {_shown(expected)}, found {_described(problem['input'])}\n"
    if len(problems) > _MOST_PROBLEMS:
        yield f"and {len(problems) - _MOST_PROBLEMS} more\n"


def _described(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case str() | bytes():
            return _shown(repr(value[:_MOST_SHOWN]))
        case _:
            return _shown(repr(value))


def _shown(text: str) -> str:
    """Return an untrusted text as ASCII, not too long."""
    plain = json.dumps(text)[1:-1].replace('\\"', '"')
    return plain if len(plain) <= _MOST_SHOWN else f"{plain[:_MOST_SHOWN]}..."

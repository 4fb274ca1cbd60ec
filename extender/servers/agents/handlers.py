"""Handlers of the agents' listener: heartbeats in, commands out; and the pods of a node.

Every caller may report for one node only: the one on which its token's pod is.
"""

import hashlib
from typing import Final, TypeVar

from aiohttp import hdrs, web

from extender.servers.agents import schema
from extender.servers.agents.answers import AgentAnswers, AgentRefusal, Cause
from shared import wire

AGENTS: Final = web.AppKey("agents", AgentAnswers)

Answer = TypeVar("Answer", wire.HeartbeatAnswer, wire.NodePods)


async def heartbeat(request: web.Request) -> web.Response:
    """``POST /v1/heartbeats``: an agent's report; the answer holds commands for it."""
    answers = request.app[AGENTS]
    node = await answers.node_of(request.headers.get(hdrs.AUTHORIZATION, ""))
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "")
    body = schema.unpacked(await request.read(), encoding, request.client_max_size)
    report = schema.read_heartbeat(body)
    if report.node != node:
        raise web.HTTPForbidden(text=f"node: the token is of a pod on {node}, not on {report.node}")
    return _json(wire.encode(_accepted(answers.heartbeat(report))))


async def node_pods(request: web.Request) -> web.Response:
    """``GET /v1/nodes/{node}/pods``: our pods there; 304 if the caller has the list."""
    answers, requested = request.app[AGENTS], request.match_info["node"]
    node = await answers.node_of(request.headers.get(hdrs.AUTHORIZATION, ""))
    if requested != node:
        raise web.HTTPForbidden(text=f"the token is of a pod on {node}, not on {requested}")
    body = wire.encode(_accepted(await answers.pods(node)))
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if tag in _cached_tags(request):
        return web.Response(status=304, headers={hdrs.ETAG: tag})
    return _json(body, {hdrs.ETAG: tag})


def _accepted(answer: Answer | AgentRefusal) -> Answer:
    """Return the answer; raises the ``HTTPException`` of a refusal."""
    if not isinstance(answer, AgentRefusal):
        return answer
    match answer.cause:
        case Cause.NOT_SYNCED:
            raise web.HTTPServiceUnavailable(text=answer.text, headers={hdrs.RETRY_AFTER: "1"})
        case Cause.NO_SUCH_NODE:
            raise web.HTTPNotFound(text=answer.text)
        case Cause.POD_ELSEWHERE:
            raise web.HTTPForbidden(text=answer.text)


def _cached_tags(request: web.Request) -> list[str]:
    tags = request.headers.get(hdrs.IF_NONE_MATCH, "").split(",")
    return [tag.strip().removeprefix("W/") for tag in tags]


def _json(body: bytes, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=body, content_type="application/json", headers=headers)

"""The agents' listener: heartbeats in, commands out; and which pods are on a node.

Every caller speaks for one node, the one its token's pod is on, and for no other.
"""

import hashlib
from typing import TypeVar

from aiohttp import hdrs, web

from extender.servers.agents import schema
from extender.servers.agents.answers import AgentRefusal, Cause
from extender.servers.keys import AGENTS
from extender.servers.scheduler.handlers import JSON
from shared import wire

Answer = TypeVar("Answer", wire.HeartbeatAnswer, wire.NodePods)


async def heartbeat(request: web.Request) -> web.Response:
    """``POST /v1/heartbeats``: what an agent knows; the answer says what it shall do."""
    answers = request.app[AGENTS]
    node = await answers.node_of(request.headers.get(hdrs.AUTHORIZATION, ""))
    encoding = request.headers.get(hdrs.CONTENT_ENCODING, "")
    body = schema.unpacked(await request.read(), encoding, request.client_max_size)
    said = schema.read_heartbeat(body)
    if said.node != node:
        raise web.HTTPForbidden(text=f"node: the token is of a pod on {node}, not on {said.node}")
    return _json(_given(answers.heartbeat(said)).model_dump_json())


async def node_pods(request: web.Request) -> web.Response:
    """``GET /v1/nodes/{node}/pods``: the pods of ours there; 304 if the caller knows them."""
    answers, asked = request.app[AGENTS], request.match_info["node"]
    node = await answers.node_of(request.headers.get(hdrs.AUTHORIZATION, ""))
    if asked != node:
        raise web.HTTPForbidden(text=f"the token is of a pod on {node}, not on {asked}")
    body = _given(await answers.pods(node)).model_dump_json()
    tag = f'"{hashlib.sha256(body.encode()).hexdigest()[:32]}"'
    if tag in _known(request):
        return web.Response(status=304, headers={hdrs.ETAG: tag})
    return _json(body, {hdrs.ETAG: tag})


def _given(answer: Answer | AgentRefusal) -> Answer:
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


def _known(request: web.Request) -> list[str]:
    tags = request.headers.get(hdrs.IF_NONE_MATCH, "").split(",")
    return [tag.strip().removeprefix("W/") for tag in tags]


def _json(body: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(body=body.encode(), content_type=JSON, headers=headers)

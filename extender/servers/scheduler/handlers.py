"""The verbs of the scheduler extender: read, ask the port, write. Status 200 is an answer.

kube-scheduler takes every other status as a failed call, so what concerns the pod is said inside
the answer; a body that cannot be read is 400. Nothing here awaits anything but the request's own
body, except bind, which waits for the gang. A standby looks at the Lease before it comes here.
"""

from typing import Final

from aiohttp import web

from extender.core.scheduler.binding import STANDBY, CallError
from extender.metrics.extender import Outcome
from extender.servers.middlewares import OUTCOME
from extender.servers.scheduler import schema
from extender.servers.scheduler.answers import SchedulerAnswers

SCHEDULER: Final = web.AppKey("scheduler", SchedulerAnswers)


JSON: Final = "application/json"


async def filter_nodes(request: web.Request) -> web.Response:
    """``POST /filter``: which of the offered nodes may take the pod."""
    offer = schema.read_offer(await request.read())
    verdict = request.app[SCHEDULER].filter(offer.pod, offer.names)
    if verdict.error is not None:
        request[OUTCOME] = Outcome.REFUSED
    body = schema.write_verdict(offer, verdict)
    return _answer(body, verdict.error)


async def prioritize(request: web.Request) -> web.Response:
    """``POST /prioritize``: a score of 0 to 10 for each node that is left."""
    offer = schema.read_offer(await request.read())
    scores = request.app[SCHEDULER].prioritize(offer.pod, offer.names)
    return web.Response(body=schema.write_scores(offer, scores), content_type=JSON)


async def bind(request: web.Request) -> web.Response:
    """``POST /bind``: bind the pod together with its gang."""
    args = schema.read_binding(await request.read())
    error = await request.app[SCHEDULER].bind(args.namespace, args.name, args.uid, args.node)
    if error is not None:
        request[OUTCOME] = Outcome.REFUSED
    return _answer(schema.write_binding(error), error)


def _answer(body: bytes, error: CallError | None) -> web.Response:
    """Build the response; a standby's ends the connection.

    Where a Service is between, the next connection leads to the leader.
    """
    response = web.Response(body=body, content_type=JSON)
    if error is STANDBY:
        response.force_close()
    return response

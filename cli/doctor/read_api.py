"""Does the read API answer, and does the replica behind it decide?"""

from collections.abc import Iterator
from typing import Final, TypeVar

from cli import client, connection, pages, refusals
from cli.connection import AnyApiServer
from cli.doctor.findings import Finding, fault, ok, unknown, warning
from cli.doctor.site import Site
from cli.errors import UnansweredError, UnreadableError
from shared import api

CHECK: Final = "read-api"
_FORBIDDEN: Final = 403

Said = TypeVar("Said", bound=api.Response)


def check(site: Site) -> Iterator[Finding]:
    """Ask for the queue through the API server's service proxy."""
    answer = site.reader.answer(site.service.path("/v1/queue"))
    if answer.status == connection.OK:
        yield of_the_queue(client.understand(answer.body, api.QueueResponse))
    else:
        yield of_a_refusal(answer.status, answer.body, site)


def of_the_queue(queue: api.QueueResponse) -> Finding:
    """Judge an answer."""
    more = " or more" if queue.more else ""
    waiting = f"{len(queue.entries)}{more} job{'' if len(queue.entries) == 1 else 's'} waiting"
    if queue.acting:
        return ok(CHECK, f"it answers, and the replica that answers decides; {waiting}")
    said = f"it answers, by a replica that does not decide; {waiting}"
    return warning(CHECK, said, "normal for one of two replicas; if it stays so, see `lease`")


def of_a_refusal(status: int, body: bytes, site: Site) -> Finding:
    """Judge an answer that is none."""
    said = refusals.sentence(status, body, site.service, "the API server", "get")
    if status == _FORBIDDEN:
        return unknown(CHECK, said, "ask for the Role shuntyard-viewer")
    mend = "look at `deployment`: is a replica ready? A proxy of the API server must reach its port"
    return fault(CHECK, said, mend)


def nodes(site: Site) -> api.NodesResponse | None:
    """Return what the extender says of the nodes; None if it says nothing.

    Raises:
        UnreadableError: It may not be asked.
    """
    way = _Proxied(site)
    try:
        _, found = pages.fetch(way, "/v1/nodes", api.NodesResponse, {})
    except UnansweredError as error:
        if way.refused:
            return None
        raise UnreadableError(str(error)) from error
    return found


class _Proxied:
    """The way through the API server's service proxy, with the doctor's reader."""

    namespace: str | None = None
    api_server: AnyApiServer | None = None

    def __init__(self, site: Site) -> None:
        self._site, self.refused = site, False

    def fetch(self, path: str, *, question: bytes | None = None, **query: str) -> bytes:  # noqa: ARG002 - as every way
        """Return the body; raises ``UnreadableError`` without the right to ask."""
        site = self._site
        answer = site.reader.answer(site.service.path(path), query)
        if answer.status == _FORBIDDEN:
            right = f"`get` on `services/proxy` named `{site.service.key}`"
            raise UnreadableError(f"needs the right {right} in the namespace {site.namespace}")
        if answer.status != connection.OK:
            self.refused = True
            raise UnansweredError(f"status {answer.status}")
        return answer.body

"""A response that a proxy has garbled is an error of the API, and ends no program."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from extender.writers.endpoint import EndpointAddress, EndpointLoop
from extender.writers.leader_writer import LeaderWriter
from shared.health import Heartbeat
from shared.kube import keyed_data, lease_holding, reviews
from shared.kube.errors import BrokenAnswerError
from shared.kube.lease_holding import LeaseCandidate, LeaseTerms
from shared.kube.reviews import Act
from tests.fakes.clock import FakeClock

ANSWERS = {
    "no UTF-8": b'{"metadata": {"resourceVersion": "\xff"}, "status": '
    b'{"error": "\xff", "allowed": "\xff"}}',
    "no JSON": b"<html>",
    "something else": b"[]",
}
CLOCK = FakeClock()


class Proxy:
    """Answers everything with the same bytes."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def get(self, *_: Any) -> bytes:
        return self.body

    post = patch = get


def release(client: Any) -> Awaitable[None]:
    candidate = LeaseCandidate("a_1", LeaseTerms())
    return lease_holding.release(client, "/lease", candidate, CLOCK)


READERS: dict[str, Callable[[Any], Awaitable[object]]] = {
    "a Secret": lambda c: keyed_data.read_secret(c, "/secret"),
    "a ConfigMap": lambda c: keyed_data.write_config_map(c, "/map", "1", {}),
    "a right": lambda c: reviews.is_allowed(c, reviews.User(), Act("list", "pods")),
    "a token": lambda c: reviews.review_token(c, "token", None),
    "a Lease": release,
}


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
async def test_a_garbled_response_is_an_error_of_the_api(
    read: Callable[[Any], Awaitable[object]], body: bytes
) -> None:
    with pytest.raises(BrokenAnswerError):
        await read(Proxy(body))


@pytest.mark.parametrize("body", ANSWERS.values(), ids=ANSWERS)
async def test_the_lease_holder_retries(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    client: Any = Proxy(body)
    place = EndpointAddress("10.0.0.1", 1, "x", ("n", "p"))
    beat = Heartbeat("endpoint", 60, CLOCK.monotonic)
    loop = EndpointLoop(LeaderWriter(client, lambda: True), "/slice", place, CLOCK, beat)
    await loop.check()
    assert "the address of this replica is not published: /slice" in caplog.text

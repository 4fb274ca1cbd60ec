"""A failure to read the Lease is logged with its reason, also for an error without a text."""

import asyncio
import logging
from typing import Any, cast

import pytest

from extender.metrics.extender import ExtenderMetrics
from extender.writers.leadership import Leadership
from shared.kube import lease
from shared.kube.client import KubeClient
from shared.kube.errors import ConnectionLostError
from shared.system_clock import SystemClock
from tests.fakes.eventually import eventually


class Silent:
    """An API server that accepts every request and never answers."""

    async def get(self, _path: str) -> bytes:
        await asyncio.get_running_loop().create_future()
        return b""


class Gone:
    """One whose connections break."""

    async def get(self, path: str) -> bytes:
        raise ConnectionLostError(f"{path}: it has gone")


CASES: dict[str, tuple[Any, str]] = {
    "it does not answer": (Silent(), "no answer in time"),
    "it has gone": (Gone(), "it has gone"),
}


@pytest.mark.parametrize(("server", "words"), CASES.values(), ids=CASES)
async def test_the_reason_is_logged(
    server: object, words: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "READ_SECONDS", 0.01)
    leadership = Leadership(
        cast("KubeClient", server),
        ("kube-system", "shuntyard"),
        "host-a",
        SystemClock(),
        ExtenderMetrics(),
        asyncio.Event(),
    )
    with caplog.at_level(logging.WARNING, "extender.writers.leadership"):
        running = asyncio.create_task(leadership.run())
        await eventually(lambda: caplog.messages)
        running.cancel()
        await asyncio.wait([running])
    assert caplog.messages[0].startswith("reading /apis/coordination.k8s.io/")
    assert caplog.messages[0].endswith(words)

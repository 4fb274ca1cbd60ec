"""What the check of a token costs: kept, not kept, and with a real API server behind it."""

import json
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.heartbeat_server import review
from bench.heartbeat_yard import ACCOUNT, AUDIENCE, TOKEN_PREFIX
from extender.http.agent_tokens import TokenCheck
from shared.kube import auth, paths, token_review
from shared.kube.client import KubeClient
from shared.kube.token_review import Review
from shared.system_clock import SystemClock

CHECKS = 20_000
REVIEWS = 200
Tokens = dict[str, dict[str, float]]


async def measure(kubeconfig: Path | None) -> Tokens:
    """Return the median microseconds, wall and CPU of this process, of each kind of check."""
    check = _check(review)
    first = await _timed([f"Bearer {TOKEN_PREFIX}{i}" for i in range(CHECKS)], check.node_of)
    kept = await _timed([f"Bearer {TOKEN_PREFIX}1"] * CHECKS, check.node_of)
    found = {"kept": kept, "not kept, reviewer answers at once": first}
    if kubeconfig is not None:
        async with KubeClient.connect(auth.load(kubeconfig)) as client:
            found |= await _against(client)
    return found


async def _against(client: KubeClient) -> Tokens:
    """Review tokens of the account ``default`` by the API server: new ones, and once more."""
    path = paths.namespaced("/api/v1/serviceaccounts", "default", "default", "token")
    body = {"spec": {"audiences": [AUDIENCE], "expirationSeconds": 600}}
    answers = [json.loads(await client.post(path, body)) for _ in range(REVIEWS)]
    tokens = [answer["status"]["token"] for answer in answers]

    async def reviewed(token: str) -> Review:
        found = await token_review.review(client, token, AUDIENCE)
        assert found.authenticated, found.error  # noqa: S101 - else it is not what is measured
        return found

    first = await _timed(tokens, reviewed)
    return {"reviewed, new token": first, "reviewed once more": await _timed(tokens, reviewed)}


def show(tokens: Tokens) -> None:
    """Print them as a table."""
    print(f"\n{'token check':>34} {'wall us':>9} {'CPU us':>8}")
    for kind, row in tokens.items():
        print(f"{kind:>34} {row['wall_us']:9.1f} {row['cpu_us']:8.1f}")


def _check(reviewer: Callable[[str], Awaitable[Review]]) -> TokenCheck:
    return TokenCheck(
        review=reviewer,
        audience=AUDIENCE,
        accounts=frozenset({ACCOUNT}),
        kept_seconds=60.0,
        clock=SystemClock(),
        count=lambda _verdict: None,
    )


async def _timed(inputs: list[str], ask: Callable[[str], Awaitable[object]]) -> dict[str, float]:
    wall = []
    cpu = time.process_time()
    for one in inputs:
        begun = time.perf_counter()
        await ask(one)
        wall.append(time.perf_counter() - begun)
    cpu_seconds = time.process_time() - cpu
    return {
        "wall_us": round(statistics.median(wall) * 1e6, 2),
        "cpu_us": round(cpu_seconds / len(inputs) * 1e6, 2),
    }

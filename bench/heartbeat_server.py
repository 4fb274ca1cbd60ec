"""The extender's listener for agents in a process of its own, over a made-up cluster.

Everything is the product's: TLS, token check with its cache, validation, merging, decision log. In
place of the API server behind the token check stands a function that knows the tokens.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path

from aiohttp import web

from bench import heartbeat_yard as yard
from extender.http.agent_answers import AgentAnswers
from extender.http.agent_tokens import TokenCheck
from extender.http.app import create_agents_app, create_runner
from extender.http.certificate import ServerCertificate
from extender.loops.record import Recorder
from extender.loops.segments import SegmentFiles
from extender.metrics.extender import ExtenderMetrics
from shared.health import Heartbeat
from shared.kube.token_review import NODE_NAME, Review, User
from shared.system_clock import SystemClock

SEGMENT_BYTES = 64 * 2**20


async def review(token: str) -> Review:
    """Return a verdict at once: a token is ``token-<node>``."""
    extra: dict[str, tuple[str, ...]] = {NODE_NAME: (token.removeprefix(yard.TOKEN_PREFIX),)}
    return Review(authenticated=True, user=User(yard.ACCOUNT, extra), audiences=(yard.AUDIENCE,))


def answers(nodes: int, pods: int, directory: Path) -> tuple[AgentAnswers, Recorder]:
    """Return what answers the agents of a cluster of so many nodes, with so many pods on each."""
    clock, metrics = SystemClock(), ExtenderMetrics()
    files = SegmentFiles(directory, SEGMENT_BYTES, 2)
    files.prepare()
    store = yard.store(nodes, pods)
    beat = Heartbeat("record", 60.0, clock.monotonic)
    recorder = Recorder(store, clock, metrics, beat, files, "bench")
    check = TokenCheck(
        review=review,
        audience=yard.AUDIENCE,
        accounts=frozenset({yard.ACCOUNT}),
        kept_seconds=60.0,
        clock=clock,
        count=lambda verdict: metrics.token_reviews.labels(verdict=verdict.value).inc(),
    )
    found = AgentAnswers(
        store, clock, metrics, check.node_of, recorder.report,
        synced=lambda: True, acting=lambda: True, stir=lambda: None,
    )  # fmt: skip
    return found, recorder


async def serve(options: argparse.Namespace, directory: Path) -> None:
    """Listen until standard input ends; print the port when it can be called."""
    port, recorder = answers(options.nodes, options.pods, directory)
    app = create_agents_app(port, port.metrics, most_body_bytes=4 * 2**20)
    runner = create_runner(app, drain_seconds=0.1)
    await runner.setup()
    tls = ServerCertificate(options.certificate, options.key).context
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    print(runner.addresses[0][1], flush=True)
    task = asyncio.create_task(recorder.run())
    await asyncio.to_thread(sys.stdin.read)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await runner.cleanup()


def main() -> None:
    """Run the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--pods", type=int, required=True)
    parser.add_argument("--certificate", type=Path, required=True)
    parser.add_argument("--key", type=Path, required=True)
    with tempfile.TemporaryDirectory(prefix="shuntyard-bench-log-") as directory:
        asyncio.run(serve(parser.parse_args(), Path(directory)))


if __name__ == "__main__":
    main()

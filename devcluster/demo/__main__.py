"""``python -m devcluster.demo [--once] [--dir DIR] [--cast FILE]``."""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from devcluster.demo.cast import Cast
from devcluster.demo.report import passed
from devcluster.demo.show import Demo, address, bring_up, command, run, say
from devcluster.shuntyard import read_api_service
from shared.errors import ShuntyardError

INTERRUPTED = 128 + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return its exit code: 0 if all jobs ran as they should."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    called = command()
    offer_our_python()
    demo: Demo | None = None
    try:
        demo = bring_up(options.dir)
        demo.command = called
        if options.cast:
            environ = {**os.environ, "KUBECONFIG": str(demo.cluster.kubeconfig)}
            demo.cast = Cast(options.cast, {**environ, "TERM": "xterm-256color"})
        summary = asyncio.run(run(demo, finished=None if options.once else _keep_running(demo)))
    except KeyboardInterrupt:
        return INTERRUPTED if options.once else 0
    except ShuntyardError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    finally:
        if demo is not None:
            _take_down(demo)
    say(json.dumps(summary))
    return 0 if passed(summary) else 1


def _keep_running(demo: Demo) -> Callable[[dict[str, Any]], None]:
    def report(summary: dict[str, Any]) -> None:
        say(json.dumps(summary))
        say("\n".join(_hints(demo)))

    return report


def _hints(demo: Demo) -> Iterator[str]:
    """Yield what a user can do next; with a token, as through the API server, also ask what-if."""
    yield "Look around, in another terminal:"
    yield f"  export KUBECONFIG={demo.cluster.kubeconfig}"
    if read_api_service.address(demo.cluster.address) is None:
        yield f"  {demo.command} jobs --url {demo.cluster.extender_url}"
    else:
        yield f"  {demo.command} jobs"
        yield f"  {demo.command} what-if --workers 2 --cpu 75m --memory 64Mi"
    yield f"  {demo.command} resume parked -n students"
    yield address(demo)
    yield "Ctrl-C ends the cluster."


def _take_down(demo: Demo) -> None:
    """End the cluster; a second Ctrl-C does not interrupt it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    demo.cluster.down()
    say(f"The cluster has ended; its logs are in {demo.cluster.directory / 'logs'}.")


def offer_our_python() -> None:
    """Make ``python3`` in containers our interpreter, which has numpy."""
    ours = Path(sys.executable).parent
    os.environ["PATH"] = os.pathsep.join([str(ours), os.environ.get("PATH", os.defpath)])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m devcluster.demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="end when all jobs have finished")
    parser.add_argument("--dir", type=Path, default=Path(".demo"), help="directory of the cluster")
    parser.add_argument("--cast", type=Path, metavar="FILE", help="record commands as an asciicast")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

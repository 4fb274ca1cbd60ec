"""``python -m devcluster.process_node``: see ``devcluster.process_node.main``."""

import asyncio
import logging
import random
import signal
import sys

from devcluster.process_node import options
from devcluster.process_node.main import NodeProcess, survey
from shared.errors import ShuntyardError
from shared.kube import auth
from shared.system_clock import SystemClock


async def _serve(chosen: options.Options) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    ground = survey(chosen)
    credentials = auth.load(chosen.kubeconfig)
    rng = random.Random()  # noqa: S311 - jitter of retries
    await NodeProcess(chosen, ground, credentials, SystemClock(), rng).serve(stop)


def main() -> None:
    """Run the nodes of the command line until SIGTERM or SIGINT."""
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        stream=sys.stderr,
    )
    try:
        asyncio.run(_serve(options.parse(sys.argv[1:])))
    except ShuntyardError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

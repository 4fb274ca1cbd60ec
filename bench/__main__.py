"""``python -m bench NAME``: runs a benchmark."""

import argparse
import signal
import sys
from types import FrameType

from bench import (
    calibration,
    elastic,
    fresh,
    gang,
    memory,
    orders,
    page,
    profiles,
    report,
    simulated,
    specon,
    takeover,
    waiting,
    weights,
)
from bench.agents import agent, connections, heartbeats, sampling
from bench.dashboards import monitored, recorded, series
from bench.decisions import device_reading, filtering, plan, pricing, scaling

COMMANDS = {
    "gang": gang,
    "filter": filtering,
    "plan": plan,
    "decisions": pricing,
    "devices": device_reading,
    "waiting": waiting,
    "memory": memory,
    "page": page,
    "fresh": fresh,
    "monitoring": monitored,
    "profile": profiles,
    "recorded": recorded,
    "report": report,
    "series": series,
    "sampling": sampling,
    "heartbeats": heartbeats,
    "agent": agent,
    "calibration": calibration,
    "connections": connections,
    "specon": specon,
    "weights": weights,
    "simulated": simulated,
    "scaling": scaling,
    "elastic": elastic,
    "orders": orders,
    "takeover": takeover,
}


def main() -> int:
    """Run one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=(module.__doc__ or "").replace("%", "%%"))
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args()
    for number in (
        signal.SIGTERM,
        signal.SIGINT,
    ):  # a shell's background job ignores SIGINT by default
        signal.signal(number, _end)
    code: int = options.run(options)
    return code


def _end(number: int, _frame: FrameType | None) -> None:
    """Exit through the benchmark's cleanup: it may have a control plane running."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())

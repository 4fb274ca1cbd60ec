"""A node's agent as far as it reads, keeps and reports: run as a process of its own.

``python -m tests.hostile.programs.crowded_node DIRECTORY LEAST MOST``: the directory has
``volume``, ``pods`` and ``places.json``. It ends after the least number of rounds if the pod
``train`` has reported enough steps by then, else after the most. Prints JSON: memory at its
highest, and the reports of that pod by round. The clock advances by an interval in each round, so
rounds are counted.
"""

import json
import sys
from pathlib import Path

from agent import running  # what the whole agent has in memory before it reads anything
from agent.parameters import AgentParameters, Paths
from agent.replicas.client import pack
from agent.reporting import bodies
from agent.reporting.board import Board
from agent.reporting.outbox import Outbox
from agent.tracking.tracker import Tracker
from shared import wire
from shared.model import Uid
from shared.wire import NodePods

TRAIN = Uid("uid-train")
SECONDS = 5.0
STEPS = 10


class Clock:
    """Advances by one interval in each round."""

    seconds = 1_700_000_000.0

    def now(self) -> float:
        return self.seconds

    monotonic = now


def highest_bytes() -> int:
    """Return the highest resident memory of this process so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def run(directory: Path, least: int, most: int) -> dict[str, object]:
    volume, logs = directory / "volume", directory / "pods"
    parameters = AgentParameters(paths=Paths(volume=volume, pod_logs=logs))
    clock = Clock()
    tracker = Tracker(running.node_context(parameters, "n1"), clock)
    pods = wire.decode(NodePods, (directory / "places.json").read_bytes()).pods
    places = {Uid(p.uid): p for p in pods}
    board, outbox = Board(), Outbox(most_events=1000, full_every_seconds=5.0)
    board.set_pods(places)
    board.outboxes.append(outbox)
    begun, steps, sizes = highest_bytes(), [], []
    while len(steps) < least or (len(steps) < most and max(steps) < STEPS):
        turn = tracker.turn(places, ())
        board.set_reports(turn.reports, turn.events, urgent=turn.urgent)
        message = outbox.next(board.state(), monotonic=clock.monotonic())
        body = bodies.heartbeat(message, node="n1", boot="b", sent_at=clock.now(), dropped=0)
        data = wire.encode(body)
        sizes.append([len(data), len(pack(data, 0).data)])
        outbox.answered(message, full_wanted=False, monotonic=clock.monotonic())
        progress = turn.reports[TRAIN].progress
        step = 0 if progress is None else progress.step or 0
        steps.append(step)
        if step:
            with (volume / "team/train/metrics/train.jsonl").open("a") as stream:
                stream.write(f'{{"step": {step + 1}, "loss": 1.0}}\n')
        clock.seconds += SECONDS
    return {
        "begun": begun,
        "highest": highest_bytes(),
        "steps": steps,
        "heartbeat": max(sizes),
        "problems": {uid: report.problem for uid, report in turn.reports.items()},
    }


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))

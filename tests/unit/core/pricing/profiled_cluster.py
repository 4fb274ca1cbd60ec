"""A simulated cluster with jobs that do not state how long their steps take."""

from msgspec.structs import replace

from extender.core.cluster.commands import ReleaseGang
from extender.core.cluster.session import Reading
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.state import QueueState
from extender.core.records import profile
from extender.core.records.profile import Profile
from shared.model import JobKey
from tests.fakes.builders import make_node
from tests.fakes.deciding import queue_pass
from tests.fakes.reports import make_pod_report, make_report
from tests.unit.core.pricing.priced_cluster import PricedCluster, params, priced_job

BATCHES = 400
UNMEASURED = "epochs=4,chunks=4,batches=25"
"""``BATCHES`` mini-batches; nothing of their time."""
TOTAL = 200
"""Steps of the whole run, as its metrics count them."""


def unmeasured(name, workers=2, **fields):
    """A job with an unknown step time."""
    return priced_job(name, workers, work=0, **{"text": UNMEASURED} | fields)


class ProfiledCluster(PricedCluster):
    """With a queue that binds what it releases, and agents that report steps."""

    def __init__(self, *jobs, count=2, cpu=4, **fields):
        nodes = [make_node(f"n{i}", cpu=str(cpu)) for i in range(count)]
        super().__init__(nodes, params(**{"share": 0.5} | fields))
        self.add(*jobs)
        self.steps = {}

    def cycle(self) -> QueueOutcome:
        state = QueueState(priced=self.last.unplanned if self.last else {})
        reading = Reading(self.now, self.now)
        return queue_pass(self.store.snapshot(), state, reading, self.params)

    def reasons(self):
        return {entry.job.name: entry.reason for entry in self.cycle().entries}

    def place(self):
        """Bind what the queue releases; return the names of those pods."""
        gangs = [c for c in self.cycle().commands if isinstance(c, ReleaseGang)]
        released = {pod.pod: pod.node for gang in gangs for pod in gang.pods}
        for key, node in released.items():
            pod = self.store.snapshot().pods[key]
            self.add(replace(pod, gates=(), node_name=node, phase="Running"))
        return sorted(key.rsplit("/", 1)[1] for key in released)

    def train(self, name, seconds, steps=10, total=TOTAL, after=None):
        """Let the job take so many steps in so many seconds; its agents report them."""
        self.now += seconds if after is None else after
        self.steps[name] = self.steps.get(name, 0) + steps
        self.report_steps(name, total=total)

    def report_steps(self, name, total=TOTAL):
        snapshot = self.store.snapshot()
        for pod in snapshot.jobs[JobKey(f"default/job/{name}")]:
            node = snapshot.bound.get(pod.uid)
            if node is None:
                continue
            report = make_pod_report(
                pod.uid, step=self.steps[name], total_steps=total, updated_at=self.now
            )
            stored = self.store.reported(node)
            others = {} if stored is None else dict(stored.pods)
            reports = others | {report.uid: report}
            self.store.report(make_report(node, reports.values(), received_at=self.now))

    def measure(self, name, step_seconds=1.0, intervals=6):
        """Train until the step time is measured."""
        for _ in range(intervals):
            self.train(name, 10 * step_seconds)
            self.run_pass()

    def run(self, name) -> Profile | None:
        return profile.read(self.owner(name))

    def status(self, name):
        return self.last.statuses[JobKey(f"default/job/{name}")]

    def events(self, outcome):
        return [c.event.reason for c in outcome.commands if c.event is not None]

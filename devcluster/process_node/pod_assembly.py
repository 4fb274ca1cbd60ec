"""Assembles the worker of a pod."""

import random
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from devcluster.process_node import container_spec, cri_log, status
from devcluster.process_node.api import NodeApi
from devcluster.process_node.container_runner import (
    ALWAYS,
    ContainerRunner,
    ContainerSequence,
    Machine,
    RunnerTask,
)
from devcluster.process_node.container_spec import PodPlace
from devcluster.process_node.cpu_budget import Unbudgeted
from devcluster.process_node.ending import Ending
from devcluster.process_node.environment import Addresses, Surroundings
from devcluster.process_node.pod_worker import PodParts, PodWorker
from devcluster.process_node.reporter import Reporter
from devcluster.process_node.sandbox import EntrySpec
from devcluster.process_node.spec import Container, PodObject
from devcluster.process_node.status import ContainerRecord, PodRecord, Waiting
from devcluster.process_node.volume_setup import VolumeSetup
from shared.kube.errors import Backoff


@dataclass(frozen=True, slots=True)
class Assembly:
    """Makes the workers of one node's pods.

    ``base`` are variables that every container has; ``changed`` is called after each change of any
    pod, as names depend on it.
    """

    directory: Path
    mode: str
    host_ip: str
    allocatable: Mapping[str, str]
    base: Mapping[str, str]
    machine: Machine
    api: NodeApi
    rng: random.Random
    changed: Callable[[], None]

    def place(self, pod: PodObject) -> PodPlace:
        """Return the directories of a pod."""
        return PodPlace(self.directory / "pods" / pod.metadata.uid, self.mode)

    def forget_others(self, uids: Collection[str]) -> None:
        """Remove the files of pods that disappeared since an earlier run of this program."""
        for directory in (self.directory / "pods").glob("*"):
            if directory.name not in uids:
                shutil.rmtree(directory, ignore_errors=True)

    def worker(
        self,
        pod: PodObject,
        verdict: tuple[str, str] | None,
        address: str,
        give_back: Callable[[str], None],
    ) -> PodWorker:
        """Return the worker of a pod that has arrived.

        Args:
            pod: The pod.
            verdict: Why it is not accepted; None if it is.
            address: Its address; empty if it needs none.
            give_back: Called with the address when nothing of the pod runs any more.
        """
        record = self._record(pod, verdict, address)
        reporter = Reporter(pod, record, self.api, self.machine.clock, self._backoff)
        place = self.place(pod)
        around = self._around(pod, address, place)
        volumes = VolumeSetup(
            pod, place.directory / "volumes", self.api, around, self.machine.clock
        )
        ending = Ending(self.machine.clock)

        def changed() -> None:
            reporter.changed()
            self.changed()

        make_runner = _Runners(self, pod, volumes, around, changed).make
        parts = PodParts(
            record=record,
            directory=place.directory,
            machine=self.machine,
            reporter=reporter,
            volumes=volumes,
            sequence=ContainerSequence(pod, record, make_runner, self.machine.clock),
            changed=changed,
            over=lambda: give_back(address) if address else None,
        )
        return PodWorker(pod, parts, ending)

    def _backoff(self) -> Backoff:
        return Backoff(rng=self.rng)

    def _record(self, pod: PodObject, verdict: tuple[str, str] | None, address: str) -> PodRecord:
        first = Waiting("PodInitializing" if pod.spec.init_containers else "ContainerCreating")
        now = self.machine.clock.now()
        record = PodRecord(
            restart_policy=pod.spec.restart_policy,
            containers=[_record(one, first) for one in pod.spec.containers],
            init_containers=[_record(one, first) for one in pod.spec.init_containers or ()],
            host_ip="" if verdict else self.host_ip,
            pod_ip=address,
            started_at=status.moment(pod.status.start_time) or now,
            verdict=verdict,
        )
        reported = (
            *(pod.status.container_statuses or ()),
            *(pod.status.init_container_statuses or ()),
        )
        by_name = {one["name"]: one for one in reported}
        for one in (*record.containers, *record.init_containers):
            status.resume(one, by_name.get(one.name, {}), now)
        return record

    def _around(self, pod: PodObject, address: str, place: PodPlace) -> Surroundings:
        own = {
            "HOME": str(place.home),
            "HOSTNAME": pod.hostname,
            "SHUNTYARD_POD_IP": address,
        }
        return Surroundings(
            Addresses(address, self.host_ip), self.allocatable, {**self.base, **own}
        )


def _record(container: Container, first: Waiting) -> ContainerRecord:
    sidecar = container.restart_policy == ALWAYS
    return ContainerRecord(container.name, container.image, sidecar=sidecar, state=first)


@dataclass(frozen=True, slots=True)
class _Runners:
    """Makes the runners of one pod's containers."""

    assembly: Assembly
    pod: PodObject
    volumes: VolumeSetup
    around: Surroundings
    changed: Callable[[], None]

    def make(
        self, container: Container, record: ContainerRecord, policy: str, ending: Ending
    ) -> ContainerRunner:
        meta = self.pod.metadata
        identity = (meta.namespace, meta.name, meta.uid)
        place = self.assembly.place(self.pod)
        task = RunnerTask(
            pod=meta.uid,
            record=record,
            policy=policy,
            spec=lambda: self._spec(container, place),
            directory=place.directory / "entry" / container.name,
            log_path=lambda run: cri_log.log_path(
                self.assembly.directory, identity, container.name, run
            ),
            changed=self.changed,
            title=f"container={container.name} pod={self.pod.full_name}",
        )
        return ContainerRunner(task, self._machine, ending)

    @property
    def _machine(self) -> Machine:
        machine = self.assembly.machine
        return replace(machine, budget=Unbudgeted()) if self.pod.is_of_a_daemon_set else machine

    def _spec(self, container: Container, place: PodPlace) -> EntrySpec:
        place.home.mkdir(parents=True, exist_ok=True)
        cgroup_files = self._machine.budget.join(self.pod.metadata.uid)
        return container_spec.build(
            self.pod, container, self.volumes, self.around, place, cgroup_files
        )

"""Assembles a node process: all nodes in one event loop, in one TaskGroup."""

import asyncio
import logging
import math
import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yarl import URL

from devcluster.process_node import cgroups, cpu_budget, cri_log, node_object, sandbox
from devcluster.process_node.addresses import Block, NodeAddresses
from devcluster.process_node.api import NodeApi
from devcluster.process_node.cgroups import CgroupBudget, Hierarchy
from devcluster.process_node.container_runner import Machine
from devcluster.process_node.cpu_budget import CpuBudget
from devcluster.process_node.names import Named, Names
from devcluster.process_node.node import NODE_PODS, ProcessNode, node_directory
from devcluster.process_node.node_object import Registration
from devcluster.process_node.options import NodeOptions, Options
from devcluster.process_node.pod_assembly import Assembly
from devcluster.process_node.process import Records
from devcluster.process_node.slices import SliceBudget
from shared.clock import Clock
from shared.kube.auth import Credentials
from shared.kube.client import KubeClient
from shared.kube.reflector import Reflector

STOP_SECONDS: Final = 5.0
"""Longest time for containers to end when the node process ends."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ground:
    """Properties of this machine, determined before the event loop starts."""

    mode: str
    hierarchy: Hierarchy | None
    block: Block


def survey(options: Options) -> Ground:
    """Determine how containers can run here. Blocks; may take a second.

    Raises:
        AddressError: No address block is free.
    """
    options.directory.mkdir(parents=True, exist_ok=True)
    mode = options.sandbox
    if mode == "auto":
        mode = sandbox.detect(options.directory)
    hierarchy = None
    if options.cpu_mechanism != "slices":
        hierarchy = cgroups.find(cpu_budget.cluster_name(options.directory))
    ground = Ground(mode, hierarchy, Block(options.directory))
    mechanism = "cgroup quotas" if hierarchy else "stopping and continuing in slices"
    logger.info(
        "sandbox: %s; CPU budget: %s; addresses: 127.%s", mode, mechanism, ground.block.number
    )
    return ground


class NodeProcess:
    """All nodes of one process.

    Args:
        options: What to run.
        ground: How it can be run here.
        credentials: The way to the API server.
        clock: Time.
        rng: Jitter.

    Attributes:
        ready: Set when every node is registered and has seen its pods.
    """

    def __init__(
        self,
        options: Options,
        ground: Ground,
        credentials: Credentials,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.ready = asyncio.Event()
        self._options = options
        self._ground = ground
        self._credentials = credentials
        self._clock = clock
        self._rng = rng
        self._nodes: list[ProcessNode] = []
        self._budgets: list[CpuBudget] = []
        self._registrations: list[Registration] = []
        self._reflectors: list[Reflector] = []
        self._names = Names(self._named)

    async def serve(self, stop: asyncio.Event) -> None:
        """Run all nodes until ``stop`` is set, then clean up.

        Raises:
            ExceptionGroup: A part failed; everything was ended.
        """
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                KubeClient.connect(self._credentials, user_agent="shuntyard-process-node")
            )
            stack.callback(self._ground.block.close)
            stack.callback(self._close_budgets)
            async with asyncio.TaskGroup() as workers, asyncio.TaskGroup() as loops:
                tasks = self._start(client, workers, loops)
                await stop.wait()
                await self._stop()
                for task in tasks:
                    task.cancel()

    def _start(
        self, client: KubeClient, workers: asyncio.TaskGroup, loops: asyncio.TaskGroup
    ) -> list[asyncio.Task[None]]:
        for index, node in enumerate(self._options.nodes):
            self._add_node(client, node, index, workers)
        self._reflectors.append(self._names.reflector(client, self._clock, self._rng, _report))
        running = (
            *(one.run() for one in self._reflectors),
            *(one.run() for one in self._registrations),
            *(one.run() for one in self._budgets),
            self._await_ready(),
        )
        return [loops.create_task(one) for one in running]

    def _add_node(
        self, client: KubeClient, options: NodeOptions, index: int, workers: asyncio.TaskGroup
    ) -> None:
        directory = node_directory(self._options.directory, options.name)
        cri_log.pod_logs(directory).mkdir(parents=True, exist_ok=True)  # agents mount it
        records = Records(directory)
        if ended := records.end_all():
            logger.warning("node %s: ended left-over processes %s", options.name, ended)
        budget = self._budget(options.name)
        self._budgets.append(budget)
        addresses = NodeAddresses(self._ground.block.number, index)
        api = NodeApi(client)
        assembly = Assembly(
            directory=directory,
            mode=self._ground.mode,
            host_ip=addresses.host_ip,
            allocatable=node_object.allocatable(options),
            base=self._base(),
            machine=Machine(self._clock, budget, records),
            api=api,
            rng=self._rng,
            changed=self._names.refresh,
        )
        node = ProcessNode(options, addresses, assembly, workers)
        self._nodes.append(node)
        notes = {"sandbox": self._ground.mode, "CPU budget": self._budget_note(budget)}
        self._registrations.append(
            Registration(options, addresses.host_ip, notes, api, self._clock, self._rng)
        )
        self._reflectors.append(
            Reflector(
                client,
                NODE_PODS,
                node.apply,
                clock=self._clock,
                rng=self._rng,
                params={"fieldSelector": f"spec.nodeName={options.name}"},
                report=_report,
            )
        )

    @property
    def _budget_cores(self) -> float:
        return cpu_budget.default_budget_cores(
            len(self._options.nodes), self._options.cpu_budget_cores
        )

    def _budget(self, node: str) -> CpuBudget:
        if self._ground.hierarchy is None:
            return SliceBudget(self._budget_cores, self._clock)
        cluster = cpu_budget.cluster_name(self._options.directory)
        return CgroupBudget(self._ground.hierarchy, cluster, node, self._budget_cores)

    def _budget_note(self, budget: CpuBudget) -> str:
        return f"{self._budget_cores:g} cores by {budget.mechanism}"

    def _base(self) -> Mapping[str, str]:
        """Return the variables that every container has, unless it sets them itself."""
        server = URL(self._credentials.server)
        threads = str(max(1, math.ceil(self._budget_cores)))
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "LANG": "C.UTF-8",
            "KUBERNETES_SERVICE_HOST": server.host or "",
            "KUBERNETES_SERVICE_PORT": str(server.port),
            "KUBERNETES_SERVICE_PORT_HTTPS": str(server.port),
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
        }

    def _named(self) -> Iterator[Named]:
        for node in self._nodes:
            yield from node.named()

    async def _await_ready(self) -> None:
        for event in (
            *(one.registered for one in self._registrations),
            *(one.synced for one in self._reflectors),
        ):
            await event.wait()
        self.ready.set()
        logger.info("ready: %s", ", ".join(node.name for node in self._nodes))

    async def _stop(self) -> None:
        async with asyncio.TaskGroup() as group:
            for registration in self._registrations:
                group.create_task(registration.farewell())
            for node in self._nodes:
                group.create_task(node.stop(STOP_SECONDS))

    def _close_budgets(self) -> None:
        for budget in self._budgets:
            budget.close()


def _report(key: str, error: Exception) -> None:
    logger.warning("watch %s: %s", key, error)

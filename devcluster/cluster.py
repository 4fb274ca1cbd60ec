"""A control plane on this machine: up, down, and single components for fault tests."""

import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from devcluster import api, emptying
from devcluster.components import control_plane, kwok, schedulers
from devcluster.components.process_nodes import process_nodes
from devcluster.credentials import bootstrap
from devcluster.credentials.certificates import Authority
from devcluster.errors import ClusterStateError, ComponentError
from devcluster.local.layout import Layout
from devcluster.local.ports import LOOPBACK, free_ports
from devcluster.local.state import ClusterState, alone
from devcluster.local.supervision import Supervisor
from devcluster.options import ClusterOptions, KwokNodes, ProcessNodes, RealNodes
from devcluster.programs import assets
from devcluster.programs.versions import REAL_NODE_PROGRAMS
from devcluster.real_nodes import site
from devcluster.real_nodes.machines import Machines
from devcluster.rights import calls
from devcluster.shuntyard import agents, read_api_service
from devcluster.shuntyard.extender_process import READY_PATH
from devcluster.shuntyard.replicas import KUBELET, ONE_REPLICA, Replicas, agents_urls
from devcluster.shuntyard.replicas import start as start_replicas
from shared.system_clock import SystemClock

_MADE: Final = (
    "state.json",
    "kubeconfig",
    "kubeconfigs",
    "pki",
    "config",
    "etcd",
    "audit",
    "process",
    "volume",
    "real",
)
"""Files that ``down`` removes; the logs stay until the next ``up``."""


class Cluster:
    """A cluster in a directory. Every program that opens the directory sees the same cluster.

    Synchronous; methods that call the API server must not be used inside an event loop.

    Args:
        directory: Holds all files of the cluster.
        report: Takes progress lines.
    """

    def __init__(self, directory: Path, report: Callable[[str], None] = print) -> None:
        self.directory = directory.resolve()
        self.layout = Layout(self.directory)
        self._report = report
        self._supervisor = Supervisor(self.layout, report)
        self.machines = Machines(self.layout, self._supervisor, report)

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def server(self) -> str:
        """URL of the API server.

        Raises:
            ClusterStateError: There is no cluster in the directory.
        """
        return self._supervisor.file.read().server

    @property
    def address(self) -> str:
        """Address at which nodes and pods of the cluster reach the servers of this machine.

        Raises:
            ClusterStateError: There is no cluster in the directory.
        """
        return self._supervisor.file.read().address

    @property
    def extender_url(self) -> str:
        """URL of the extender's read API; of several, that of the first.

        Raises:
            ClusterStateError: The cluster has no extender.
        """
        return self.url_of("extender")

    def url_of(self, extender: str) -> str:
        """Return the URL of an extender's read API, by its component's name.

        Raises:
            ClusterStateError: The cluster has no such extender.
        """
        probe = self._supervisor.file.component(extender).probe
        assert probe is not None  # noqa: S101 - `extender_process.extender` gave it one
        return probe.url.removesuffix(READY_PATH)

    def agents_urls(self) -> list[str]:
        """Return the URLs that agents report to, one for each replica."""
        return agents_urls(self._supervisor, self.layout)

    @classmethod
    def up(
        cls,
        directory: Path,
        options: ClusterOptions = ClusterOptions(),  # noqa: B008 - frozen, and the plain cluster
        report: Callable[[str], None] = print,
    ) -> "Cluster":
        """Start a cluster, or those components of an existing one that have ended.

        Raises:
            AssetsError: A program is of another version, or could not be built.
            ComponentError: A component did not start; everything has been taken down again.
        """
        cluster = cls(directory, report)
        cluster.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone(cluster.directory / "up.lock"):
            if not cluster._revive():
                cluster._create(options)
        return cluster

    @classmethod
    def attach(cls, directory: Path, report: Callable[[str], None] = print) -> "Cluster":
        """Return the cluster that was started in the directory.

        Raises:
            ClusterStateError: There is none.
        """
        cluster = cls(directory, report)
        cluster.state()
        return cluster

    def down(self) -> None:
        """End exactly the processes that were started for this directory; keep the logs."""
        if not self.directory.is_dir():
            raise ClusterStateError(f"there is no cluster in {self.directory}")
        with alone(self.directory / "up.lock"):
            self._take_down()

    def state(self) -> ClusterState:
        """Return the recorded state of the cluster.

        Raises:
            ClusterStateError: There is no cluster in the directory.
        """
        return self._supervisor.file.read()

    def start(self, component: str) -> None:
        """Start a component again that was stopped or killed; waits until it is ready.

        Raises:
            ClusterStateError: The cluster has no such component, or it runs.
            ComponentError: It did not become ready.
        """
        self._supervisor.start(component)

    def stop(self, component: str) -> None:
        """End a component: SIGTERM, SIGKILL when it does not end in time.

        Raises:
            ClusterStateError: The cluster has no such component, or it does not run.
        """
        self._supervisor.require(component)
        self._supervisor.stop(component)

    def kill(self, component: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a component; after SIGKILL it is gone when this returns.

        Raises:
            ClusterStateError: The cluster has no such component, or it does not run.
        """
        self._supervisor.kill(component, number)

    def restart(self, component: str, *flags: str) -> None:
        """Stop a component if it runs, and start it again as it was started, with more flags."""
        self._supervisor.stop(component)
        with self._supervisor.file.change() as state:
            state.components[component].argv += flags
        self._supervisor.start(component)

    def pid(self, component: str) -> int:
        """Return a component's process id.

        Raises:
            ClusterStateError: The cluster has no such component, or it does not run.
        """
        return self._supervisor.require(component).pid

    def runs(self, component: str) -> bool:
        """Return whether a component runs; False also for one that was never started."""
        return self._supervisor.process(component) is not None

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Return a kubeconfig with a client certificate for any user and groups."""
        authority = Authority(self.layout.pki, SystemClock())
        return bootstrap.write_user(self.layout, authority, self.server, user, tuple(groups))

    def apply_roles(self) -> None:
        """Apply namespace, service account and roles of the extender, and our kinds of objects."""
        api.call(self.kubeconfig, lambda client: api.apply(client, bootstrap.base_manifests()))

    def start_default_scheduler(self) -> None:
        """Start the plain kube-scheduler, for pods that name no scheduler."""
        (port,) = free_ports(1)
        component = schedulers.plain(self._program("kube-scheduler"), self.layout, port)
        self._supervisor.launch({"default-scheduler": component})

    def start_peer(self, peer: schedulers.Peer) -> None:
        """Start another gang scheduler for pods that name none; the plain one must not run.

        Raises:
            InputError: This version of Kubernetes has no PodGroups of its own.
            TimeoutError: Its PodGroups are not served (`ClusterOptions.in_tree_gangs`).
        """
        version = self.state().kubernetes
        api.call(self.kubeconfig, lambda client: schedulers.prepare_peer(client, peer, version))
        (port,) = free_ports(1)
        component = peer.component(self._program(peer.program), self.layout, port, version)
        self._supervisor.launch({peer.value: component})

    def start_shuntyard(
        self, settings: Mapping[str, Any] | None = None, replicas: Replicas = ONE_REPLICA
    ) -> None:
        """Apply our RBAC and start the extender and the kube-scheduler that calls it.

        Args:
            settings: Settings of the extender that differ from its defaults.
            replicas: Further pairs (`devcluster.shuntyard.replicas`).
        """
        program = self._program("kube-scheduler")
        self.apply_roles()
        every = (self._supervisor, self.layout, program, replicas, settings or {}, self._report)
        start_replicas(*every)

    def start_agents(self, settings: Mapping[str, Any] | None = None) -> None:
        """Run an agent on every process node and wait until all are ready.

        The extender and the plain kube-scheduler, which places them, must run.

        Args:
            settings: Settings of the agents that differ from their defaults.

        Raises:
            TimeoutError: Not all became ready.
        """
        self.layout.volume.mkdir(exist_ok=True)
        urls, wanted = self.agents_urls(), settings or {}
        api.call(
            self.kubeconfig,
            lambda client: agents.start(client, self.layout, urls=urls, settings=wanted),
        )

    def add_kwok_nodes(self, nodes: KwokNodes) -> None:
        """Create fake nodes and wait until pods can be bound to them; starts kwok if need be.

        Raises:
            ComponentError: The nodes did not become Ready.
        """
        if not self.runs("kwok"):
            (port,) = free_ports(1)
            grace = self.state().node_grace_seconds
            program = self._program("kwok")
            component = kwok.component(program, self.layout, port, node_grace_seconds=grace)
            self._supervisor.launch({"kwok": component})
        begun = time.monotonic()
        api.call(self.kubeconfig, lambda client: kwok.create(client, nodes))
        self._await_nodes("kwok", frozenset(nodes.names()))
        self._report(f"{nodes.count} kwok nodes are Ready ({time.monotonic() - begun:.1f} s)")

    def add_process_nodes(self, nodes: ProcessNodes) -> None:
        """Start nodes whose containers are processes and wait until pods can be bound to them.

        Raises:
            ComponentError: The nodes did not become Ready.
        """
        self._supervisor.launch({"process-nodes": process_nodes(self.layout, nodes)})
        self._await_nodes("process-nodes", frozenset(nodes.names()))

    def add_real_nodes(self, nodes: RealNodes) -> None:
        """Start nodes with a kubelet and containers of their own and wait until they are Ready.

        Afterwards ``machines`` can power them off and cut their network.

        Raises:
            ClusterStateError: The cluster was not started for real nodes.
            ComponentError: A node did not become Ready.
            MachineError: This machine cannot run them.
        """
        self.machines.add(nodes, {name: self._program(name) for name in REAL_NODE_PROGRAMS})

    def empty(self) -> None:
        """End all but the control plane, and delete nodes, workloads and further namespaces."""
        names = [name for name in self.state().components if name not in control_plane.NAMES]
        self._supervisor.stop(*(name for name in names if name == KUBELET))  # or it revives them
        self._supervisor.stop(*names)
        self._supervisor.forget(*names)
        site.clear(self.layout, self._report)
        api.call(self.kubeconfig, emptying.empty)
        api.call(self.kubeconfig, read_api_service.withdraw)

    def _await_nodes(self, component: str, names: frozenset[str]) -> None:
        log = self.layout.log(component)

        def check() -> None:
            if not self.runs(component):
                raise ComponentError(component, "ended before its nodes were Ready", log)

        try:
            api.call(self.kubeconfig, lambda client: api.wait_until_usable(client, names, check))
        except TimeoutError:
            problem = f"did not make its nodes Ready in {api.NODES_READY_SECONDS:.0f} s"
            raise ComponentError(component, problem, log) from None

    def _revive(self) -> bool:
        """Start what has ended of a complete cluster; False if there is none."""
        if not self._supervisor.file.path.exists():
            return False
        if not self.state().complete:
            self._report(f"an earlier start in {self.directory} was cut short; starting afresh")
            return False
        dead = self._supervisor.dead()
        if dead:
            if self.address != LOOPBACK:
                self.machines.revive()
            self._report(f"starting again: {', '.join(dead)}")
            self._supervisor.start(*dead)
        else:
            self._report(f"the cluster in {self.directory} is already running")
        return True

    def _create(self, options: ClusterOptions) -> None:
        self._take_down()
        shutil.rmtree(self.directory / "logs", ignore_errors=True)
        try:
            self._start(options)
        except BaseException:
            self._take_down()
            raise

    def _start(self, options: ClusterOptions) -> None:
        address = LOOPBACK if options.real is None else self.machines.prepare(options.real)
        wanted = control_plane.needed(options)
        programs = assets.ensure(wanted, kubernetes=options.kubernetes, report=self._report)
        plane = control_plane.plan(programs, self.layout, options, address=address)
        bootstrap.create_identities(self.layout, plane.server, SystemClock())
        grace = options.node_monitor_grace_seconds
        state = ClusterState(options.kubernetes, plane.server, grace, address)
        self._supervisor.file.write(state)
        for name, component in plane.components.items():  # each needs the one before it
            self._supervisor.launch({name: component})
        api.call(self.kubeconfig, bootstrap.prepare)
        self._start_rest(options)
        with self._supervisor.file.change() as state:
            state.complete = True

    def _start_rest(self, options: ClusterOptions) -> None:
        if options.kwok is not None:
            self.add_kwok_nodes(options.kwok)
        if options.process is not None:
            self.add_process_nodes(options.process)
        if options.real is not None:
            self.add_real_nodes(options.real)
        if options.schedulers.default:
            self.start_default_scheduler()
        if options.schedulers.shuntyard:
            self.start_shuntyard(options.settings, Replicas(options.replicas))
        if options.agents:
            self.start_agents()

    def _take_down(self) -> None:
        self._supervisor.end_all()
        calls.keep_all(self.layout.audit)
        site.leave(self.layout, self._report)
        for name in _MADE:
            path = self.directory / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _program(self, name: str) -> Path:
        kubernetes = self.state().kubernetes
        return assets.ensure(frozenset({name}), kubernetes=kubernetes, report=self._report)[name]

"""The real nodes of a cluster: start, power failure, partition, restart of a kubelet."""

import contextlib
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import psutil

from devcluster import api
from devcluster.credentials import bootstrap
from devcluster.credentials.certificates import Authority
from devcluster.errors import ClusterStateError, ComponentError
from devcluster.local import supervision
from devcluster.local.layout import Layout
from devcluster.local.ports import free_ports
from devcluster.local.processes import wait
from devcluster.local.state import Component
from devcluster.local.supervision import Supervisor
from devcluster.options import RealNodes
from devcluster.real_nodes import (
    agents,
    containerd,
    images,
    kubelet_config,
    network,
    node,
    services,
    site,
)
from devcluster.real_nodes.network import GATEWAY, MOST_NODES, RealNode
from devcluster.real_nodes.readiness import (
    IMPORT_SECONDS,
    wait_until_imported,
    wait_until_ready,
)
from devcluster.shuntyard import replicas
from shared.system_clock import SystemClock

_KUBELET_SECONDS: Final = 10.0


class Machines:
    """Real nodes: power, cable, kubelet. One cluster per machine can have some.

    Synchronous, like `devcluster.cluster.Cluster`, which lends it as ``machines``.

    Args:
        layout: The cluster's directory.
        supervisor: Its processes.
        report: Takes progress lines.
    """

    def __init__(
        self, layout: Layout, supervisor: Supervisor, report: Callable[[str], None]
    ) -> None:
        self._layout = layout
        self._supervisor = supervisor
        self._report = report

    def nodes(self) -> Mapping[str, RealNode]:
        """Return the nodes by name, whether they run or not."""
        components = self._supervisor.file.read().components
        numbers = {name: one.environ.get(node.NUMBER) for name, one in components.items()}
        return {name: RealNode(name, int(text)) for name, text in numbers.items() if text}

    def prepare(self, nodes: RealNodes) -> str:
        """Prepare this machine for such nodes; return its address for them.

        Raises:
            InputError: They would offer more than the machine has.
            MachineError: It cannot have real nodes; the message says why.
        """
        kubelet_config.machine_reserves(nodes)
        site.occupy(self._layout, self._report)
        return GATEWAY

    def add(self, nodes: RealNodes, programs: Mapping[str, Path]) -> None:
        """Start nodes and wait until they are Ready and know the cluster's Services.

        Args:
            nodes: Which.
            programs: Those of `REAL_NODE_PROGRAMS`, by name.

        Raises:
            ClusterStateError: The cluster was not started for real nodes.
            ComponentError: A node did not become Ready.
            MachineError: Their images could not be made.
        """
        state = self._supervisor.file.read()
        if state.address != GATEWAY:
            raise ClusterStateError("the cluster was started without real nodes (--nodes real:N)")
        if nodes.first + nodes.count > MOST_NODES:
            raise ClusterStateError(f"there can be {MOST_NODES} real nodes, not more")
        if nodes.count == 0:
            return
        begun = SystemClock().now()
        site.prepare(self._layout)
        self._serve_names(state.server, programs["coredns"])
        files = images.write_images(self._layout.real_nodes / "images", self._report)
        components = {}
        for name, number in zip(nodes.names(), nodes.numbers(), strict=True):
            one = RealNode(name, number)
            grace = state.node_grace_seconds
            kubeconfig = node.write(
                self._layout, one, nodes, state.server, node_grace_seconds=grace
            )
            components[name] = node.component(self._layout, one, programs, kubeconfig, files)
            site.connect(one)
        self._supervisor.launch(components)
        for name in components:
            self.await_ready(name, begun)
        self._report(f"{nodes.count} real nodes are Ready ({SystemClock().now() - begun:.1f} s)")

    def revive(self) -> None:
        """Restore what a restart of the machine removes and the nodes need."""
        site.occupy(self._layout, self._report)
        if nodes := self.nodes():
            site.prepare(self._layout)
            for one in nodes.values():
                site.connect(one)

    def start_agents(self, settings: Mapping[str, Any] | None = None) -> None:
        """Run an agent on every real node and wait until all are ready.

        The extender and the plain kube-scheduler, which places them, must run.

        Args:
            settings: Settings of the agents that differ from their defaults.

        Raises:
            TimeoutError: Not all became ready.
        """
        self._layout.volume.mkdir(exist_ok=True)
        urls = replicas.agents_urls(self._supervisor, self._layout)
        names, changed = self.nodes().keys(), settings or {}
        api.call(
            self._layout.kubeconfig,
            lambda client: agents.start(client, self._layout, names, urls=urls, settings=changed),
        )

    def load(self, archive: Path, image: str, *names: str) -> None:
        """Give all nodes an image, as a pull does; they keep it over a power failure.

        Args:
            archive: The image's file.
            image: Its name in the archive.
            names: Further names that it gets.

        Raises:
            ClusterStateError: A node does not run.
            MachineError: Its containerd refused the archive.
        """
        for node_name in self.nodes():
            pid = self._supervisor.require(node_name).pid
            containerd.load(pid, archive)
            if names:
                containerd.name(pid, image, *names)

    def power_off(self, name: str) -> None:
        """End all of a node at once, like a power failure, without notice to the cluster.

        Raises:
            ClusterStateError: There is no such node, or it does not run.
        """
        self._node(name)
        self._supervisor.kill(name, signal.SIGKILL)
        site.remove_groups(self._report, name)

    def power_on(self, name: str) -> None:
        """Start a node again with the disk it had, and wait until it is Ready.

        Raises:
            ClusterStateError: There is no such node, or it runs.
            ComponentError: It did not become Ready.
        """
        one = self._node(name)
        begun = SystemClock().now()
        site.connect(one)
        self._supervisor.start(name)
        self.await_ready(name, begun)

    def partition(self, name: str) -> None:
        """Cut a node's cable: its pods run on, unreachable.

        Raises:
            ClusterStateError: There is no such node.
            MachineError: It does not run.
        """
        network.cut(self._node(name))

    def heal(self, name: str) -> None:
        """Restore a node's cable; does not wait until the node is Ready.

        Raises:
            ClusterStateError: There is no such node.
            MachineError: It does not run.
        """
        network.restore(self._node(name))

    def restart_kubelet(self, name: str) -> None:
        """End a node's kubelet; a second later there is a new one. Waits until it reports Ready.

        Raises:
            ClusterStateError: There is no such node, or it does not run.
            ComponentError: It did not become Ready again.
        """
        kubelet = self.kubelet(name)
        kubelet.terminate()
        wait([kubelet], _KUBELET_SECONDS)
        self.await_ready(name, SystemClock().now())

    def kubelet(self, name: str) -> psutil.Process:
        """Return a node's kubelet.

        Raises:
            ClusterStateError: There is no such node, it does not run, or its kubelet does not.
        """
        self._node(name)
        for process in self._supervisor.require(name).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # one of many that come and go
                if process.name() == "kubelet":
                    return process
        raise ClusterStateError(f"{name} has no kubelet at the moment")

    def pod_logs(self, name: str) -> Path:
        """Return the directory that is ``/var/log/pods`` in a node."""
        return self._layout.real_node(name) / "pods"

    def await_ready(self, name: str, begun: float) -> None:
        """Wait until a node has reported itself Ready after ``begun``, in seconds of our clock.

        Raises:
            ComponentError: It ended, or did not within `api.NODES_READY_SECONDS` after it had the
                images with which it begins.
        """

        def check() -> None:
            if self._supervisor.process(name) is None:
                raise ComponentError(name, "ended before it was Ready", self._layout.log(name))

        kubeconfig = self._layout.kubeconfig
        self._await_images(name, check)
        try:
            api.call(kubeconfig, lambda client: wait_until_ready(client, name, begun, check))
        except TimeoutError:
            problem = f"was not Ready in {api.NODES_READY_SECONDS:.0f} s"
            log = self._layout.log(f"{name}-kubelet")
            raise ComponentError(name, problem, log) from None
        self._await_services(name)

    def _await_images(self, name: str, check: Callable[[], None]) -> None:
        directory = self._layout.real_node(name)
        try:
            api.call(self._layout.kubeconfig, lambda _client: wait_until_imported(directory, check))
        except TimeoutError:
            problem = f"had not unpacked its images in {IMPORT_SECONDS:.0f} s"
            raise ComponentError(name, problem, self._layout.log(name)) from None

    def _await_services(self, name: str) -> None:
        """Wait until a node's kube-proxy has written its rules."""
        log, probe = self._layout.log(f"{name}-kube-proxy"), services.proxy_probe(self._node(name))
        component = Component((), str(log), probe)
        alive = lambda: self._supervisor.process(name) is not None  # noqa: E731
        supervision.wait_until_ready(name, component, self._layout.authority, alive)

    def _serve_names(self, server: str, program: Path) -> None:
        """Start the cluster's DNS server, unless it runs."""
        if self._supervisor.process(services.DNS) is not None:
            return
        layout, (port, ready_port) = self._layout, free_ports(2)
        api.call(layout.kubeconfig, lambda client: api.apply(client, services.dns_manifests(port)))
        authority = Authority(layout.pki, SystemClock())
        kubeconfig = bootstrap.write_user(layout, authority, server, services.DNS_USER)
        component = services.dns_component(
            program, layout, kubeconfig, port=port, ready_port=ready_port
        )
        self._supervisor.launch({services.DNS: component})

    def _node(self, name: str) -> RealNode:
        nodes = self.nodes()
        if name not in nodes:
            known = ", ".join(nodes) or "none"
            raise ClusterStateError(f"there is no real node {name!r}; there are {known}")
        return nodes[name]

"""Replicas of the scheduler: each is a kube-scheduler and the extender that it calls.

kube-scheduler's identity in the Lease is its host name and a uuid, and the extender beside it is
the leader while the Lease is held under its own host name. All of them run on this machine, so each
of several pairs gets its own host name, in a UTS namespace, which needs root.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from devcluster.components import schedulers
from devcluster.components.schedulers import LeaseTimes
from devcluster.errors import DevclusterError
from devcluster.local.layout import Layout
from devcluster.local.ports import LOOPBACK, free_ports
from devcluster.local.state import Component
from devcluster.local.supervision import Supervisor
from devcluster.shuntyard import extender_process, read_api_service
from devcluster.shuntyard.read_api_relay import relay_argv
from devcluster.shuntyard.read_api_service import MOST_REPLICAS, named, pod_name

_TRY_SECONDS: Final = 10.0
_NAMED: Final = 'hostname "$0" && exec "$@"'


@cache
def missing() -> str:
    """Return why a process cannot have its own host name here; empty if it can."""
    programs = [shutil.which(name) for name in ("unshare", "hostname", "sh")]
    if not all(programs):
        return "unshare, hostname and sh are needed for a host name of its own"
    argv = [*_wrapped("probe"), shutil.which("true") or "true"]
    done = subprocess.run(argv, capture_output=True, timeout=_TRY_SECONDS, check=False)
    return "" if done.returncode == 0 else f"a host name of its own needs root: {done.stderr!r}"


def on_host(component: Component, name: str) -> Component:
    """Return the component as it runs under that host name; it stays one process.

    Raises:
        DevclusterError: This machine does not allow it.
    """
    if reason := missing():
        raise DevclusterError(reason)
    return replace(component, argv=(*_wrapped(name), *component.argv))


def _wrapped(name: str) -> tuple[str, ...]:
    return (shutil.which("unshare") or "unshare", "--uts", "--", "/bin/sh", "-c", _NAMED, name)


KUBELET: Final = "kubelet"
EXTENDER: Final = "extender"
SCHEDULER: Final = "kube-scheduler"
WAY: Final = "way"
"""The relay between a replica and the API server; cutting it isolates the replica."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """Number and options of the replicas.

    Args:
        count: Pairs; more than one needs root.
        lease: Times of kube-scheduler's leader election; None: its defaults.
        supervised: Containers that ended or fail their probe are restarted (`kubelet_part`).
        relayed: Each pair reaches the API server through its own relay (component ``way``).
    """

    count: int = 1
    lease: LeaseTimes | None = None
    supervised: bool = False
    relayed: bool = False


_PEERS: Final = {"peers": {"service": read_api_service.SERVICE}}
"""A standby forwards reads."""
ONE_REPLICA: Final = Replicas()


def running(supervisor: Supervisor) -> tuple[int, ...]:
    """Return the numbers of the replicas that were started, running or not."""
    components = supervisor.file.read().components
    return tuple(n for n in range(MOST_REPLICAS) if named(EXTENDER, n) in components)


def agents_urls(supervisor: Supervisor, layout: Layout) -> list[str]:
    """Return the URLs that agents report to, one for each replica."""
    return [
        extender_process.agents_url(layout, named(EXTENDER, number))
        for number in running(supervisor)
    ]


def start(
    supervisor: Supervisor,
    layout: Layout,
    program: Path,
    options: Replicas,
    settings: Mapping[str, Any],
    report: Callable[[str], None],
) -> None:
    """Start all of them and wait until they are ready.

    Raises:
        ComponentError: One did not become ready.
        DevclusterError: Several are requested, and this machine cannot give them host names.
    """
    _forget_further_ones(supervisor, options.count)
    components: dict[str, Component] = {}
    api_ports = []
    for number in range(options.count):
        port, scheduler_port, api_port, agents_port = free_ports(4)
        server = supervisor.file.read().server
        if options.relayed:
            server = _through_relay(supervisor, layout, number, server)
        pair = {
            named(EXTENDER, number): extender_process.extender(
                layout,
                extender_process.write_kubeconfig(layout, server, named(EXTENDER, number)),
                scheduler_port=scheduler_port,
                api_port=api_port,
                agents=(supervisor.file.read().address, agents_port),
                settings=extender_process.merged(_PEERS, settings),
                name=named(EXTENDER, number),
            ),
            named(SCHEDULER, number): schedulers.ours(
                program, layout, port, scheduler_port,
                name=named(SCHEDULER, number), server=server, lease=options.lease,
            ),
        }  # fmt: skip
        if options.count > 1:
            pair = {name: on_host(one, pod_name(number)) for name, one in pair.items()}
        components |= pair
        api_ports.append(api_port)
    supervisor.launch(components)
    if options.supervised:
        supervisor.launch({KUBELET: _kubelet_part(layout)})
    read_api_service.serve(supervisor, layout, api_ports, report)


def _kubelet_part(layout: Layout) -> Component:
    command = ("-m", "devcluster.shuntyard.kubelet_part", "--dir", str(layout.directory))
    return Component((sys.executable, *command), str(layout.log(KUBELET)))


def _through_relay(supervisor: Supervisor, layout: Layout, number: int, server: str) -> str:
    """Start the relay of a replica and return the API server's URL behind it."""
    (port,) = free_ports(1)
    name = named(WAY, number)
    target = int(server.rpartition(":")[2])
    supervisor.launch({name: Component(relay_argv(port, target), str(layout.log(name)))})
    return f"https://{LOOPBACK}:{port}"


def _forget_further_ones(supervisor: Supervisor, count: int) -> None:
    """Drop surplus replicas of an earlier start."""
    further = [
        named(program, number)
        for number in running(supervisor)[count:]
        for program in (SCHEDULER, EXTENDER, read_api_service.COMPONENT, WAY)
    ]
    known = supervisor.file.read().components
    further = [name for name in further if name in known]
    supervisor.stop(*further)
    supervisor.forget(*further)

"""Command lines of etcd, kube-apiserver and kube-controller-manager.

Differences from a kubeadm cluster, on purpose: RBAC only (no Node authorizer: one process plays
many nodes, under a user of its own); no leader election of the controller-manager; client rates,
worker counts and request limits of a large cluster, so that measurements never show the client
side; nodes are checked every 2 s instead of 5 s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devcluster.local.layout import Layout
from devcluster.local.ports import LOOPBACK, free_ports
from devcluster.local.state import Component, Probe
from devcluster.options import ClusterOptions
from devcluster.programs.differences import differences, server_flags
from devcluster.programs.versions import REAL_NODE_PROGRAMS
from devcluster.rights import calls
from shared.errors import InputError

NAMES: Final = frozenset({"etcd", "kube-apiserver", "kube-controller-manager"})
SERVICE_RANGE: Final = "10.96.0.0/16"
ISSUER: Final = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class Plan:
    """A control plane: URL of its API server, and its components in order of start."""

    server: str
    components: Mapping[str, Component]


def needed(options: ClusterOptions) -> frozenset[str]:
    """Return the names of the programs that ``up`` needs."""
    names = set(NAMES)
    if options.real is not None:
        names.update(REAL_NODE_PROGRAMS)
    if options.kwok is not None:
        names.add("kwok")
    if options.schedulers.default or options.schedulers.shuntyard:
        names.add("kube-scheduler")
    return frozenset(names)


def plan(
    programs: Mapping[str, Path],
    layout: Layout,
    options: ClusterOptions,
    *,
    address: str = LOOPBACK,
) -> Plan:
    """Choose ports and return the control plane, with the API server at ``address``.

    Raises:
        InputError: This version of Kubernetes lacks a requested feature.
    """
    etcd_port, peer_port, port, manager_port = free_ports(4)
    components = {
        "etcd": etcd(programs["etcd"], layout, etcd_port, peer_port),
        "kube-apiserver": kube_apiserver(
            programs["kube-apiserver"],
            layout,
            port,
            etcd_port,
            address=address,
            more={**_features(options), **_recording(options, layout)},
        ),
        "kube-controller-manager": kube_controller_manager(
            programs["kube-controller-manager"],
            layout,
            manager_port,
            node_grace_seconds=options.node_monitor_grace_seconds,
        ),
    }
    return Plan(f"https://{address}:{port}", components)


def _features(options: ClusterOptions) -> Mapping[str, object]:
    has = differences(options.kubernetes)
    if options.in_tree_gangs and has.gangs is None:
        raise InputError("in_tree_gangs", f"Kubernetes {options.kubernetes}", "at least 1.35")
    gangs = has.gangs if options.in_tree_gangs else None
    policies = has.mutating_policies if options.mutating_policies else None
    if options.eviction_requests and has.eviction_requests is None:
        raise InputError("eviction_requests", f"Kubernetes {options.kubernetes}", "at least 1.37")
    evictions = has.eviction_requests if options.eviction_requests else None
    if options.device_taint_rules and has.device_taint_rules is None:
        raise InputError("device_taint_rules", f"Kubernetes {options.kubernetes}", "at least 1.36")
    rules = has.device_taint_rules if options.device_taint_rules else None
    return server_flags(one for one in (gangs, policies, evictions, rules) if one is not None)


def _recording(options: ClusterOptions, layout: Layout) -> Mapping[str, object]:
    records = options.record_api_calls or calls.place() is not None
    return calls.flags(layout.audit) if records else {}


def _flags(values: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(f"--{name}={value}" for name, value in values.items())


def _program(
    name: str,
    program: Path,
    layout: Layout,
    flags: Mapping[str, object],
    probe: Probe,
) -> Component:
    return Component(argv=(str(program), *_flags(flags)), log=str(layout.log(name)), probe=probe)


def etcd(program: Path, layout: Layout, port: int, peer_port: int) -> Component:
    """Return etcd with client certificates required; nothing is forced to disk."""
    client, peer = f"https://{LOOPBACK}:{port}", f"https://{LOOPBACK}:{peer_port}"
    server, authority = layout.server, layout.authority
    flags = {
        "name": "devcluster",
        "data-dir": layout.data,
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"devcluster={peer}",
        "cert-file": server.certificate,
        "key-file": server.key,
        "trusted-ca-file": authority,
        "client-cert-auth": "true",
        "peer-cert-file": server.certificate,
        "peer-key-file": server.key,
        "peer-trusted-ca-file": authority,
        "peer-client-cert-auth": "true",
        "unsafe-no-fsync": "true",
        "quota-backend-bytes": 4 * 2**30,
        "log-level": "warn",
    }
    pair = layout.etcd_client
    probe = Probe(f"{client}/readyz", str(pair.certificate), str(pair.key))
    return _program("etcd", program, layout, flags, probe)


def kube_apiserver(
    program: Path,
    layout: Layout,
    port: int,
    etcd_port: int,
    *,
    address: str = LOOPBACK,
    more: Mapping[str, object] | None = None,
) -> Component:
    """Return kube-apiserver: TLS, RBAC, ServiceAccount admission (on by default), further flags."""
    server, signing, client = layout.server, layout.signing, layout.etcd_client
    flags = {
        "etcd-servers": f"https://{LOOPBACK}:{etcd_port}",
        "etcd-cafile": layout.authority,
        "etcd-certfile": client.certificate,
        "etcd-keyfile": client.key,
        "bind-address": address,
        "advertise-address": address,
        # Endpoints must not be loopback addresses: without real nodes the service "kubernetes" has
        # none.
        "endpoint-reconciler-type": "none" if address == LOOPBACK else "lease",
        "secure-port": port,
        "tls-cert-file": server.certificate,
        "tls-private-key-file": server.key,
        "client-ca-file": layout.authority,
        **_way_to_kubelets(layout),
        **_front_proxy(layout),
        "authorization-mode": "RBAC",
        "service-cluster-ip-range": SERVICE_RANGE,
        "service-account-issuer": ISSUER,
        "service-account-key-file": signing.certificate,
        "service-account-signing-key-file": signing.key,
        "allow-privileged": "true",
        "max-requests-inflight": 1500,
        "max-mutating-requests-inflight": 750,
        "delete-collection-workers": 8,
        "shutdown-delay-duration": "0s",
        **(more or {}),
    }
    probe = Probe(f"https://{address}:{port}/readyz")
    return _program("kube-apiserver", program, layout, flags, probe)


def _way_to_kubelets(layout: Layout) -> Mapping[str, object]:
    return {
        "kubelet-certificate-authority": layout.authority,
        "kubelet-client-certificate": layout.kubelet_client.certificate,
        "kubelet-client-key": layout.kubelet_client.key,
        "kubelet-preferred-address-types": "InternalIP",  # names of nodes do not resolve
    }


def _front_proxy(layout: Layout) -> Mapping[str, object]:
    """Return flags without which every component logs a warning; no client has this name."""
    return {
        "requestheader-client-ca-file": layout.authority,
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
    }


def kube_controller_manager(
    program: Path, layout: Layout, port: int, *, node_grace_seconds: int
) -> Component:
    """Return kube-controller-manager with all its usual controllers, each under its own account."""
    kubeconfig = layout.user_kubeconfig("system:kube-controller-manager")
    server = layout.server
    flags = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": LOOPBACK,
        "secure-port": port,
        "tls-cert-file": server.certificate,
        "tls-private-key-file": server.key,
        "root-ca-file": layout.authority,
        "service-account-private-key-file": layout.signing.key,
        "cluster-signing-cert-file": layout.authority,
        "cluster-signing-key-file": layout.pki / "ca.key",
        "use-service-account-credentials": "true",
        "service-cluster-ip-range": SERVICE_RANGE,
        "leader-elect": "false",
        "node-monitor-period": "2s",
        "node-monitor-grace-period": f"{node_grace_seconds}s",
        "pvclaimbinder-sync-period": "5s",
        "kube-api-qps": 1000,
        "kube-api-burst": 2000,
        "concurrent-job-syncs": 20,
        "concurrent-gc-syncs": 20,
        "concurrent-namespace-syncs": 20,
    }
    probe = Probe(f"https://{LOOPBACK}:{port}/healthz")
    return _program("kube-controller-manager", program, layout, flags, probe)

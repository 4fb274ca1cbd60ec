"""The files of a cluster's directory."""

import re
from dataclasses import dataclass
from pathlib import Path

from devcluster.credentials.certificates import Pair


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a cluster; ``directory`` is absolute."""

    directory: Path

    @property
    def pki(self) -> Path:
        """CA, server certificate, client certificates, service-account keys."""
        return self.directory / "pki"

    @property
    def authority(self) -> Path:
        """The CA certificate."""
        return self.pki / "ca.crt"

    @property
    def server(self) -> Pair:
        """Certificate and key of every server of the cluster."""
        return Pair(self.pki / "server.crt", self.pki / "server.key")

    @property
    def etcd_client(self) -> Pair:
        """Client certificate of kube-apiserver for etcd."""
        return Pair(self.pki / "etcd-client.crt", self.pki / "etcd-client.key")

    @property
    def kubelet_client(self) -> Pair:
        """Client certificate of kube-apiserver for kubelets."""
        return Pair(self.pki / "kubelet-client.crt", self.pki / "kubelet-client.key")

    @property
    def signing(self) -> Pair:
        """Public and private key of service-account tokens."""
        return Pair(self.pki / "sa.pub", self.pki / "sa.key")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "kubeconfig"

    @property
    def config(self) -> Path:
        """Configuration files of the components."""
        return self.directory / "config"

    @property
    def data(self) -> Path:
        """The data of etcd."""
        return self.directory / "etcd"

    def decisions(self, extender: str = "extender") -> Path:
        """Return the decision log of an extender, by its component's name."""
        return self.directory / "logs" / f"decisions{extender.removeprefix('extender')}"

    @property
    def audit(self) -> Path:
        """API calls of our programs (`devcluster.rights`)."""
        return self.directory / "audit"

    @property
    def process_nodes(self) -> Path:
        """A directory for each process node: its pods, their logs."""
        return self.directory / "process"

    @property
    def volume(self) -> Path:
        """The shared volume: a directory for each job, ``<namespace>/<job>``."""
        return self.directory / "volume"

    @property
    def real_nodes(self) -> Path:
        """A directory for each real node, and the images of all."""
        return self.directory / "real"

    def real_node(self, name: str) -> Path:
        """Return a real node's directory, which serves as its disk."""
        return self.real_nodes / name

    def user_kubeconfig(self, user: str) -> Path:
        """Return the file of a user other than the administrator."""
        return (
            self.directory / "kubeconfigs" / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', user)}.kubeconfig"
        )

    def log(self, component: str) -> Path:
        """Return a component's log file."""
        return self.directory / "logs" / f"{component}.log"

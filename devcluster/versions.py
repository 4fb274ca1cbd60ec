"""Versions that belong together, and the programs that the wrapper modules build."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from devcluster.errors import AssetsError

DEFAULT_KUBERNETES: Final = "1.36.3"
REAL_NODE_PROGRAMS: Final = ("kubelet", "kube-proxy", "coredns")
"""Programs on real nodes and for them, beside Debian's containerd."""


@dataclass(frozen=True, slots=True)
class Binary:
    """One program and how to get it from its Go module.

    Args:
        name: File name.
        version: Expected version, without ``v``.
        module: Folder under ``devcluster/modules``.
        package: Go package to build, as seen from that folder.
        pattern: Regular expression whose first group is the version in ``NAME --version``.
        ldflags: Linker flags of its own.
        pins: File with the module's pins, where it is not ``go.mod``; its sums lie beside it.
    """

    name: str
    version: str
    module: str
    package: str
    pattern: re.Pattern[str]
    ldflags: str = ""
    pins: str = ""

    @property
    def folder(self) -> str:
        """Its folder in the cache; a program for several versions of Kubernetes is kept once."""
        return f"v{self.version}" if self.module == "kubernetes" else f"{self.name}-{self.version}"


def _kubernetes(name: str, version: str) -> Binary:
    major, minor, _ = version.split(".")
    stamp = "k8s.io/component-base/version"
    values = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return Binary(
        name=name,
        version=version,
        module="kubernetes",
        package=f"./cmd/{name}",
        pattern=re.compile(r"^Kubernetes v(\S+)", re.MULTILINE),
        ldflags=" ".join(f"-X {stamp}.{key}={value}" for key, value in values.items()),
        pins="" if version == DEFAULT_KUBERNETES else f"{major}.{minor}.mod",
    )


def _coscheduling(version: str) -> Binary:
    """Return kube-scheduler with the coscheduling plugin, on the Kubernetes code it is made for.

    The plugin names 1.34.7; 1.34.4 is the nearest one that every module mirror serves.
    """
    same = _kubernetes("kube-scheduler", version)
    return dataclasses.replace(
        same, name="coscheduling", module="coscheduling", package=".", pins=""
    )


def _coredns(version: str) -> Binary:
    """Return CoreDNS with the plugins of devcluster/modules/coredns."""
    pattern = re.compile(r"^CoreDNS-(\S+)", re.MULTILINE)
    return Binary("coredns", version, "coredns", ".", pattern)


def _release(kubernetes: str, etcd: str, kwok: str) -> Mapping[str, Binary]:
    binaries = (
        Binary("etcd", etcd, "etcd", ".", re.compile(r"^etcd Version: (\S+)", re.MULTILINE)),
        _kubernetes("kube-apiserver", kubernetes),
        _kubernetes("kube-controller-manager", kubernetes),
        _kubernetes("kube-scheduler", kubernetes),
        _kubernetes("kubelet", kubernetes),
        _kubernetes("kube-proxy", kubernetes),
        _coredns("1.14.7"),
        _coscheduling("1.34.4"),
        Binary(
            "kwok",
            kwok,
            "kwok",
            "sigs.k8s.io/kwok/cmd/kwok",
            re.compile(r"^kwok version v(\S+)", re.MULTILINE),
        ),
    )
    return {binary.name: binary for binary in binaries}


RELEASES: Final[Mapping[str, Mapping[str, Binary]]] = {
    version: _release(kubernetes=version, etcd="3.6.14", kwok="0.8.0")
    for version in ("1.34.4", "1.35.4", DEFAULT_KUBERNETES)
}
"""Kubernetes version → its programs by name.

The pins of a version are in devcluster/modules/kubernetes: ``go.mod`` for the default one, else a
file named after its minor (docs/versions.md says how one is added).
"""


def release(kubernetes: str) -> Mapping[str, Binary]:
    """Return the programs of a Kubernetes version.

    Raises:
        AssetsError: No wrapper module pins that version.
    """
    try:
        return RELEASES[kubernetes]
    except KeyError:
        known = ", ".join(sorted(RELEASES))
        message = f"Kubernetes {kubernetes} is not wired in devcluster/modules; known: {known}"
        raise AssetsError(message) from None

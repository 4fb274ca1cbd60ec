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
        pattern: Regular expression whose first group is the version in what it prints of itself.
        ldflags: Linker flags of its own.
        asked: Arguments with which it prints its version.
        pins: File with the module's pins, where it is not ``go.mod``; its sums lie beside it.
    """

    name: str
    version: str
    module: str
    package: str
    pattern: re.Pattern[str]
    ldflags: str = ""
    pins: str = ""
    asked: tuple[str, ...] = ("--version",)
    official: bool = False

    @property
    def folder(self) -> str:
        """Its folder in the cache; a program for several versions of Kubernetes is kept once."""
        return f"v{self.version}" if self.module == "kubernetes" else f"{self.name}-{self.version}"

    @property
    def minor(self) -> str:
        """Its version without the patch."""
        return self.version.rpartition(".")[0]

    @property
    def wanted(self) -> str:
        """Its name, and the versions of it that a user may give us."""
        return f"{self.name} {self.minor}.x" if self.official else f"{self.name} {self.version}"

    def serves(self, version: str) -> bool:
        """Return True if a program of this version can be used in place of ours."""
        if self.official:
            return version.startswith(f"{self.minor}.")
        return version == self.version


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
        official=name not in REAL_NODE_PROGRAMS,
    )


def _coscheduling(version: str) -> Binary:
    """Return kube-scheduler with the coscheduling plugin, on the Kubernetes code it is made for.

    The plugin names 1.34.7; 1.34.4 is the nearest one that every module mirror serves.
    """
    same = _kubernetes("kube-scheduler", version)
    return dataclasses.replace(
        same, name="coscheduling", module="coscheduling", package=".", pins="", official=False
    )


def _coredns(version: str) -> Binary:
    """Return CoreDNS with the plugins of devcluster/modules/coredns."""
    pattern = re.compile(r"^CoreDNS-(\S+)", re.MULTILINE)
    return Binary("coredns", version, "coredns", ".", pattern)


def _helm(version: str) -> Binary:
    """Return Helm; without a cluster it renders charts for a cluster of the default Kubernetes."""
    major, minor, _ = DEFAULT_KUBERNETES.split(".")
    module = "helm.sh/helm/v3"
    values = {
        f"{module}/internal/version.version": f"v{version}",
        **{
            f"{module}/{package}.k8sVersion{name}": value
            for package in ("pkg/chartutil", "pkg/lint/rules")
            for name, value in (("Major", major), ("Minor", minor))
        },
    }
    return Binary(
        name="helm",
        version=version,
        module="helm",
        package=f"{module}/cmd/helm",
        pattern=re.compile(r"^v(\S+?)(?:\+|$)", re.MULTILINE),
        ldflags=" ".join(f"-X {name}={value}" for name, value in values.items()),
        asked=("version", "--short"),
    )


def _actionlint(version: str) -> Binary:
    """Return the linter of .github/workflows."""
    return Binary(
        name="actionlint",
        version=version,
        module="actionlint",
        package="github.com/rhysd/actionlint/cmd/actionlint",
        pattern=re.compile(r"^v?(\d\S+)", re.MULTILINE),
        ldflags=f"-X github.com/rhysd/actionlint.version={version}",
        asked=("-version",),
    )


def _release(kubernetes: str, etcd: str, kwok: str) -> Mapping[str, Binary]:
    binaries = (
        Binary(
            "etcd",
            etcd,
            "etcd",
            ".",
            re.compile(r"^etcd Version: (\S+)", re.MULTILINE),
            official=True,
        ),
        _kubernetes("kube-apiserver", kubernetes),
        _kubernetes("kube-controller-manager", kubernetes),
        _kubernetes("kube-scheduler", kubernetes),
        _kubernetes("kubelet", kubernetes),
        _kubernetes("kube-proxy", kubernetes),
        _coredns("1.14.7"),
        _coscheduling("1.34.4"),
        _helm("3.22.0"),
        _actionlint("1.7.12"),
        Binary(
            "kwok",
            kwok,
            "kwok",
            "sigs.k8s.io/kwok/cmd/kwok",
            re.compile(r"^kwok version v(\S+)", re.MULTILINE),
            official=True,
        ),
    )
    return {binary.name: binary for binary in binaries}


RELEASES: Final[Mapping[str, Mapping[str, Binary]]] = {
    version: _release(kubernetes=version, etcd="3.6.14", kwok="0.8.0")
    for version in ("1.34.4", "1.35.4", DEFAULT_KUBERNETES, "1.37.2")
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

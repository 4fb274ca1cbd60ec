"""Installs Shuntyard on real nodes as users do: three images, one kustomization.

The images of extender and agent are built from our Dockerfiles, that of kube-scheduler is its
program only. No registry is needed: nodes get the images first.
"""

import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from devcluster.credentials.bootstrap import DEPLOY
from devcluster.real_nodes import dockerfiles, oci_archive
from devcluster.real_nodes.commands import run
from devcluster.real_nodes.dockerfiles import Builder
from devcluster.shuntyard.extender_process import merged

REGISTRY: Final = "localhost"
IMAGES: Final = (*dockerfiles.IMAGES, "kube-scheduler")
"""Their names in deploy/base."""

SYSTEM: Final = "shuntyard-system"
AGENTS: Final = "shuntyard-agents"
_WORKLOADS: Final = {SYSTEM: "deployment/shuntyard-extender", AGENTS: "daemonset/shuntyard-agent"}
_READY_SECONDS: Final = 900
"""For two replicas, or for a deletion, on a busy machine."""
_FILES: Final = {SYSTEM: ("shuntyard-extender", "extender.yaml"),
                 AGENTS: ("shuntyard-agent", "agent.yaml")}  # fmt: skip


def image(name: str, tag: str) -> str:
    """Return the name of one of `IMAGES` on the nodes."""
    return f"{REGISTRY}/{name}:{tag}"


def write_archives(
    directory: Path, builder: Builder, scheduler: Path, tag: str
) -> Mapping[str, Path]:
    """Return the archives of all images, by the names of `IMAGES`; existing ones stay.

    Args:
        directory: For the archives.
        builder: Builds the Dockerfiles.
        scheduler: The program kube-scheduler.
        tag: Of all three.

    Raises:
        MachineError: debootstrap or buildah failed.
    """
    directory.mkdir(parents=True, exist_ok=True)
    archives = {
        name: builder.save(builder.kept(name), directory / f"{name}.tar", image(name, tag))
        for name in dockerfiles.IMAGES
    }
    layer = directory / "kube-scheduler.layer"
    with tarfile.open(layer, "w") as tar:
        tar.add(scheduler, "usr/local/bin/kube-scheduler")
    archives["kube-scheduler"] = oci_archive.write(
        directory / "kube-scheduler.tar",
        image("kube-scheduler", tag),
        [layer],
        command=["kube-scheduler"],
    )
    return archives


@dataclass(frozen=True)
class Installation:
    """A user's own kustomization, applied by kubectl.

    Attributes:
        directory: Of the kustomization.
        kubeconfig: An administrator's.
    """

    directory: Path
    kubeconfig: Path

    def write(
        self,
        tag: str,
        volume: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        agent_settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the kustomization, with our images and volume.

        Args:
            tag: Of the images.
            volume: The agents' volume on every node.
            settings: Settings of the extender that differ from those of deploy/base.
            agent_settings: The same of the agents.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        for (_, file), more in zip(_FILES.values(), (settings, agent_settings), strict=True):
            shipped = yaml.safe_load((DEPLOY / "base/settings" / file).read_text())
            (self.directory / file).write_text(yaml.safe_dump(merged(shipped, more or {})))
        text = yaml.safe_dump(_kustomization(self.directory, tag, volume), sort_keys=False)
        (self.directory / "kustomization.yaml").write_text(text)

    def apply(self) -> None:
        """Install or change it; returns before anything is ready.

        Raises:
            MachineError: kubectl or the API server refused something.
        """
        self.kubectl("apply", "-k", str(self.directory))

    def await_ready(self, seconds: int = _READY_SECONDS) -> None:
        """Wait until all replicas and agents are those of the last `apply`, and ready.

        Raises:
            MachineError: They are not after ``seconds``.
        """
        for namespace, workload in _WORKLOADS.items():
            status = ("rollout", "status", workload, f"--timeout={seconds}s")
            self.kubectl("--namespace", namespace, *status)

    def delete(self) -> None:
        """Uninstall it; returns when all that was applied is gone.

        Raises:
            MachineError: Something was still there after `_READY_SECONDS`.
        """
        options = ("--ignore-not-found", f"--timeout={_READY_SECONDS}s")
        self.kubectl("delete", "-k", str(self.directory), *options)

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl as an administrator and return its output.

        Raises:
            MachineError: It failed; the message ends with its output.
        """
        way = ("kubectl", "--kubeconfig", str(self.kubeconfig))
        return run(*way, *arguments, seconds=2.0 * _READY_SECONDS)


def _kustomization(directory: Path, tag: str, volume: Path) -> Mapping[str, Any]:
    place = {"op": "replace", "path": "/spec/hostPath/path", "value": str(volume)}
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [_seen_from(directory, part) for part in ("base", "overlays/demo-pv")],
        "components": [_seen_from(directory, "components/gate")],
        "images": [
            {"name": name, "newName": f"{REGISTRY}/{name}", "newTag": tag} for name in IMAGES
        ],
        "configMapGenerator": [
            {"name": name, "namespace": namespace, "behavior": "replace", "files": [file]}
            for namespace, (name, file) in _FILES.items()
        ],
        "patches": [
            {"target": {"kind": "PersistentVolume"}, "patch": yaml.safe_dump([place])},
        ],
    }


def _seen_from(directory: Path, part: str) -> str:
    """Return a part of deploy/ as a relative path, because kustomize takes no absolute ones."""
    return os.path.relpath(DEPLOY / part, directory.resolve())

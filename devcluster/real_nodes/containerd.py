"""Images in a node's containerd, beside those that every node has from its start."""

from pathlib import Path
from typing import Final

from devcluster.real_nodes.commands import run
from devcluster.real_nodes.readiness import IMPORT_SECONDS

_ADDRESS: Final = "/run/containerd/containerd.sock"


def load(pid: int, archive: Path) -> None:
    """Import an image's archive into the node whose process ``pid`` is.

    Raises:
        MachineError: containerd refused it.
    """
    _ctr(pid, "import", str(archive))


def name(pid: int, image: str, *names: str) -> None:
    """Give an image of the node further names.

    Raises:
        MachineError: There is no such image.
    """
    _ctr(pid, "tag", "--force", image, *names)


def _ctr(pid: int, *arguments: str) -> None:
    inside = ("nsenter", "--target", str(pid), "--mount", "--")
    images = ("ctr", "--address", _ADDRESS, "--namespace", "k8s.io", "images")
    run(*inside, *images, *arguments, seconds=IMPORT_SECONDS)

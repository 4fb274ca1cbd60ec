"""The project's Dockerfiles, built by buildah on a substitute for their base image.

The substitute has the name of the base and is Debian with its own Python, so that no registry is
needed. The results are for tests only.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devcluster.local.state import alone
from devcluster.programs.assets import cache_directory
from devcluster.real_nodes import debian, images
from devcluster.real_nodes.commands import run, succeeds

BASE: Final = "localhost/python:3.11-slim"
IMAGES: Final = ("shuntyard-extender", "shuntyard-agent")
"""Each has a Dockerfile named after its last word."""

_ROOT: Final = Path(__file__).parents[2]
_PACKAGES: Final = (*debian.PACKAGES, "python3-venv", "python3-pip")
_LENT: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
_SECONDS: Final = 3600.0
"""A build takes two minutes of CPU: a quarter of an hour on a busy machine."""


def why_not() -> tuple[str, ...]:
    """Return why nothing can be built here; nothing if it can."""
    reasons = []
    if os.geteuid() != 0:
        reasons.append("you are not root")
    reasons += [
        f"{program} is missing (Debian package {program})"
        for program in ("buildah", "debootstrap")
        if shutil.which(program) is None
    ]
    return tuple(reasons)


@dataclass(frozen=True)
class Builder:
    """A separate store of images.

    Attributes:
        directory: The store, below the cache: the base is made once.
        report: Takes progress lines.
    """

    directory: Path
    report: Callable[[str], None]

    def kept(self, name: str) -> str:
        """Return the tag of one of `IMAGES`, built only if its sources have changed.

        Raises:
            MachineError: debootstrap or buildah failed.
        """
        with alone(self.directory / "build.lock"):
            self._ensure_base()
            base = self.inspect(BASE, "{{.FromImageID}}")
            tag = f"localhost/{name}:{images.key(_ROOT, _dockerfile(name), base)}"
            if not succeeds(*self._command("inspect", "--type=image", tag)):
                self._forget(name)
                self._build(name, tag)
        return tag

    def build(self, name: str) -> str:
        """Build one of `IMAGES` from this checkout and return its tag.

        Raises:
            MachineError: debootstrap or buildah failed.
        """
        tag = f"localhost/{name}:test"
        with alone(self.directory / "build.lock"):
            self._ensure_base()
            self._build(name, tag)
        return tag

    def run(self, image: str, *command: str, lent: Mapping[Path, str] | None = None) -> str:
        """Run a command as the image's own user in a container of its own; return its output.

        It has this machine's network.

        Args:
            image: Its tag.
            command: Program and arguments.
            lent: Directories of this machine, by the path at which the container has them.

        Raises:
            MachineError: It failed.
        """
        container = self._buildah("from", "--pull-never", image).strip()
        volumes = [f"--volume={source}:{path}:ro" for source, path in (lent or {}).items()]
        try:
            return self._buildah("run", "--isolation=chroot", *volumes, container, "--", *command)
        finally:
            self._buildah("rm", container)

    def save(self, image: str, archive: Path, name: str = "") -> Path:
        """Write an image to an archive that containerd imports, and return it.

        Args:
            image: Its tag.
            archive: File to replace.
            name: Its name in the archive; empty: its tag.
        """
        archive.unlink(missing_ok=True)
        self._buildah("push", "--quiet", image, f"docker-archive:{archive}:{name or image}")
        return archive

    def inspect(self, image: str, template: str) -> str:
        """Return the result of a Go template on the image's description."""
        return self._buildah("inspect", "--type=image", f"--format={template}", image).strip()

    def _build(self, name: str, tag: str) -> None:
        """Build it; an earlier image of this tag is removed."""
        self.report(f"building {name} by buildah")
        options = ("--pull-never", "--isolation=chroot", "--network=host", "--timestamp=0")
        files = ("--file", str(_dockerfile(name)), "--tag", tag, str(_ROOT))
        self._buildah("build", *options, *_volumes(), *files)
        self._buildah("rmi", "--prune")

    def _forget(self, name: str) -> None:
        """Remove the images of older sources."""
        listed = ("images", "--noheading", "--format", "{{.Name}}:{{.Tag}}")
        for tag in self._buildah(*listed).split():
            if tag.startswith(f"localhost/{name}:"):
                self._buildah("rmi", "--force", tag)  # a run that was killed may hold it

    def _ensure_base(self) -> None:
        if succeeds(*self._command("inspect", "--type=image", BASE)):
            return
        self.report("making a substitute for the base image by debootstrap (once; a minute or two)")
        root = self.directory / "root"
        shutil.rmtree(root, ignore_errors=True)  # of a build that was killed
        try:
            debian.make_root(root, _PACKAGES)
            (root / "usr/bin/python").symlink_to("python3")
            container = self._buildah("from", "scratch").strip()
            self._buildah("add", "--quiet", container, str(root), "/")
            self._buildah("commit", "--quiet", "--rm", container, BASE)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def _buildah(self, *arguments: str) -> str:
        return run(*self._command(*arguments), seconds=_SECONDS)

    def _command(self, *arguments: str) -> tuple[str, ...]:
        # vfs works everywhere, also where the directory is itself on an overlay
        store = ("--storage-driver", "vfs", "--root", str(self.directory / "store"))
        return ("buildah", *store, "--runroot", str(self.directory / "run"), *arguments)


def builder(report: Callable[[str], None], environ: Mapping[str, str] = os.environ) -> Builder:
    """Return the builder that keeps its store in the cache of the built programs."""
    directory = cache_directory(environ) / "images"
    directory.mkdir(parents=True, exist_ok=True)
    return Builder(directory, report)


def _dockerfile(name: str) -> Path:
    return _ROOT / f"Dockerfile.{name.rpartition('-')[2]}"


def _volumes() -> tuple[str, ...]:
    """Mount the files that pip needs to reach its index; they do not stay in the image."""
    return tuple(f"--volume={file}:{file}:ro" for file in _LENT if Path(file).is_file())

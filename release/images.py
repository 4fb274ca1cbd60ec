"""Images of a release are named by digest: a tag can be moved to another image, a digest cannot.

A digest is resolved from a registry when the release is made. None stands in the source tree,
because nothing here could keep it current.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from release.errors import ReleaseError

DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_PROGRAMS: Final = ("shuntyard-extender", "shuntyard-agent")
_SECONDS: Final = 120.0

Ask = Callable[[Sequence[str]], str]


def ask(
    command: Sequence[str], environ: Mapping[str, str] | None = None, seconds: float = _SECONDS
) -> str:
    """Run a command and return what it prints.

    Args:
        command: Program and arguments.
        environ: Variables beside those of this process.
        seconds: How long it may take.

    Raises:
        ReleaseError: It is missing, or failed.
    """
    try:
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, **(environ or {})},
        )
    except FileNotFoundError:
        raise ReleaseError(f"{command[0]} is missing") from None
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        output = (error.stderr or "") if isinstance(error.stderr, str) else ""
        raise ReleaseError(f"{' '.join(command)}: {output.strip() or error}") from None
    return done.stdout


def by_digest(reference: str, ask: Ask = ask) -> str:
    """Return an image's reference with the digest that its registry gives for it now.

    Args:
        reference: ``name:tag``, or a reference that has a digest already.
        ask: Runs a command.

    Raises:
        ReleaseError: The registry does not answer, or not with a digest.

    Source:
        docker buildx imagetools inspect, of the index of all platforms.
    """
    if is_by_digest(reference):
        return reference
    command = ("docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}")
    digest = ask((*command, reference)).strip()
    if not DIGEST.fullmatch(digest):
        raise ReleaseError(f"{reference}: expected sha256:<64 hex digits>, got {digest!r}")
    return f"{reference}@{digest}"


def is_by_digest(reference: str) -> bool:
    """Whether the reference can lead to one image only."""
    return bool(DIGEST.fullmatch(reference.rpartition("@")[2]))


def placed(program: str, images: Mapping[str, str]) -> tuple[str, str]:
    """Return name and digest of a program's image; the name without a tag.

    Raises:
        ReleaseError: The program is missing, or its image has no digest.
    """
    reference = images.get(program, "")
    if not is_by_digest(reference):
        raise ReleaseError(f"{program}: expected name@sha256:…, got {reference!r}")
    name, _, digest = reference.partition("@")
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}", digest


def kustomization(images: Mapping[str, str], base: str) -> str:
    """Return the release's kustomization.

    Args:
        images: Our programs and where each image is, by digest.
        base: Reference of the manifests, e.g. ``../deploy/base``.

    Raises:
        ReleaseError: A program is missing, or its image has no digest.
    """
    lines = []
    for program in _PROGRAMS:
        name, digest = placed(program, images)
        lines.append({"name": program, "newName": name, "digest": digest})
    content = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [base],
        "images": lines,
    }
    return yaml.safe_dump(content, sort_keys=False)


def lint(directory: Path, base: str) -> tuple[str, ...]:
    """Return what forbids publishing the release in a directory; nothing if it may go out.

    Args:
        directory: YAML files of the release; kustomizations and rendered manifests.
        base: The base image that the Dockerfiles were built on.
    """
    problems = [] if is_by_digest(base) else [f"base image {base!r} is named by tag"]
    files = sorted(directory.rglob("*.yaml"))
    if not files:
        problems.append(f"{directory} has no manifests")
    for file in files:
        for document in yaml.safe_load_all(file.read_text()):
            problems += [f"{file.name}: {problem}" for problem in _by_tag(document)]
    return tuple(problems)


def _by_tag(document: Any) -> Iterator[str]:
    if isinstance(document, Mapping) and document.get("kind") == "Kustomization":
        listed = {one.get("name"): one for one in document.get("images") or ()}
        for program in _PROGRAMS:
            if not DIGEST.fullmatch(str(listed.get(program, {}).get("digest", ""))):
                yield f"image {program} has no digest"
        return
    for reference in _images(document):
        # kube-scheduler has the cluster's version, which the administrator sets
        if reference != "kube-scheduler" and not is_by_digest(reference):
            yield f"image {reference} is named by tag"


def _images(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "image" and isinstance(inner, str):
                yield inner
            else:
                yield from _images(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _images(inner)

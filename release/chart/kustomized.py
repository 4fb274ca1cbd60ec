"""The objects of folders of deploy/ as kustomize prints them, and the texts they come from."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from release.errors import ReleaseError
from release.locks import ROOT

DEPLOY: Final = ROOT / "deploy"
GENERATED: Final = ("shuntyard-extender", "shuntyard-scheduler", "shuntyard-agent")
"""ConfigMaps whose names end with a hash."""
_HASHED: Final = re.compile(rf"({'|'.join(GENERATED)})-[a-z0-9]{{10}}")
_SECONDS: Final = 60.0

Manifest = dict[str, Any]


class Key(NamedTuple):
    """What names an object in a cluster."""

    kind: str
    namespace: str
    name: str


class Folders(NamedTuple):
    """Folders of deploy/ that a kustomization names."""

    resources: tuple[str, ...] = ()
    components: tuple[str, ...] = ()


def key(manifest: Mapping[str, Any]) -> Key:
    """Return the key of an object."""
    metadata = manifest["metadata"]
    return Key(manifest["kind"], metadata.get("namespace", ""), metadata["name"])


def rendered(folders: Folders) -> dict[Key, Manifest]:
    """Return the objects of the folders by key; names of ConfigMaps without the hash.

    Raises:
        ReleaseError: kubectl is missing, or refuses the folders.
    """
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory).resolve()
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [os.path.relpath(DEPLOY / one, place) for one in folders.resources],
            "components": [os.path.relpath(DEPLOY / one, place) for one in folders.components],
        }
        (place / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
        text = _printed(("kubectl", "kustomize", str(place)))
    names = {
        found["metadata"]["name"]
        for found in yaml.safe_load_all(text)
        if found["kind"] == "ConfigMap" and _HASHED.fullmatch(found["metadata"]["name"])
    }
    for name in names:
        text = text.replace(name, name.rpartition("-")[0])
    return {key(found): found for found in yaml.safe_load_all(text)}


def _printed(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except FileNotFoundError:
        raise ReleaseError(f"{command[0]} is missing: it renders the kustomizations") from None
    if done.returncode:
        raise ReleaseError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Source(NamedTuple):
    """One document of a file.

    Attributes:
        file: Below deploy/.
        text: The document, with its comments.
    """

    file: Path
    text: str


def sources() -> dict[Key, Source]:
    """Return the document of each object that a file of deploy/ has; of patches the patched one."""
    found: dict[Key, Source] = {}
    for file in sorted(DEPLOY.glob("*/**/*.yaml"), key=lambda one: ("base" not in one.parts, one)):
        if file.is_relative_to(DEPLOY / "chart"):
            continue
        for name, text in _documents(file):
            found.setdefault(name, Source(file.relative_to(DEPLOY), text))
    return found


def _documents(file: Path) -> Iterator[tuple[Key, str]]:
    for text in re.split(r"^---\n", file.read_text(), flags=re.MULTILINE):
        content = yaml.safe_load(text)
        if isinstance(content, Mapping) and "name" in content.get("metadata", {}):
            yield key(content), text

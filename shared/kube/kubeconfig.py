"""kubeconfig files: several merged into one, paths relative to the file that names them.

Source:
    https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

import base64
import binascii
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from shared.errors import SettingsError

Section = dict[str, Any]

DIRECTORY: Final = "_directory"
"""Key under which a section remembers its file's directory."""

SKIP_VERIFY: Final = "insecure-skip-tls-verify"

_FILES: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_REFUSED: Final = {
    SKIP_VERIFY: "is not supported",
    "username": "is not supported: no supported Kubernetes takes passwords",
    "password": "is not supported: no supported Kubernetes takes passwords",
    "auth-provider": "is not supported, as in kubectl since 1.26: use an exec plugin",
}


@dataclass(frozen=True)
class Context:
    """A resolved context.

    Attributes:
        cluster: The section of its cluster.
        user: The section of its user; empty: anonymous.
        namespace: Its namespace; None if the context has none.
    """

    cluster: Section
    user: Section
    namespace: str | None = None


def read_context(
    files: Sequence[Path], context: str | None = None, *, unverified_allowed: bool = False
) -> Context:
    """Resolve a context; of two entries with one name the first counts.

    Args:
        files: Later ones may be missing, as kubectl allows it; the first readable one decides.
        context: Default: ``current-context``.
        unverified_allowed: Whether the cluster may ask for ``insecure-skip-tls-verify``.

    Raises:
        SettingsError: No file, no such entry, or an unsupported setting.
    """
    documents = [_document(file) for file in files if file.exists()]
    if not documents:
        raise SettingsError(f"kubeconfig: none of {', '.join(map(str, files))} exists")
    name = context or next(
        (d["current-context"] for d in documents if d.get("current-context")), ""
    )
    chosen = _entry(documents, "context", name)
    cluster = _entry(documents, "cluster", chosen.get("cluster", ""))
    user = _entry(documents, "user", chosen["user"]) if chosen.get("user") else {}
    for key, problem in _REFUSED.items():
        asked_for = cluster.get(key) or user.get(key)
        if asked_for and not (unverified_allowed and key == SKIP_VERIFY):
            raise SettingsError(f"kubeconfig: {key} {problem}")
    return Context(cluster, user, chosen.get("namespace") or None)


def pem(section: Section, key: str) -> bytes | None:
    """Return the content of ``<key>-data``, else of the file ``<key>``; None if both are missing.

    Raises:
        SettingsError: The data is not base64 or the file cannot be read.
    """
    try:
        if section.get(f"{key}-data"):
            return base64.b64decode(section[f"{key}-data"], validate=True)
        return Path(section[key]).read_bytes() if section.get(key) else None
    except (binascii.Error, OSError) as error:
        raise SettingsError(f"kubeconfig: {key} cannot be read: {error}") from error


@contextmanager
def as_files(certificate: bytes, key: bytes | None) -> Iterator[tuple[Path, Path | None]]:
    """Write certificate and key to temporary files, the only form that Python's ssl accepts."""
    with tempfile.TemporaryDirectory(prefix="shuntyard-") as directory:  # mode 0700
        paths = Path(directory) / "tls.crt", Path(directory) / "tls.key"
        paths[0].write_bytes(certificate)
        if key is not None:
            paths[1].write_bytes(key)
        yield paths[0], paths[1] if key is not None else None


def _document(file: Path) -> Section:
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"kubeconfig {file} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise SettingsError(f"kubeconfig {file} is not a mapping")
    return {**document, DIRECTORY: file.parent}


def _entry(documents: Sequence[Section], kind: str, name: str) -> Section:
    for document in documents:
        for entry in document.get(f"{kind}s") or ():
            if entry.get("name") == name:
                return _resolved(entry.get(kind) or {}, document[DIRECTORY])
    raise SettingsError(f"kubeconfig: there is no {kind} named {name!r}")


def _resolved(section: Section, directory: Path) -> Section:
    paths = {key: str(directory / section[key]) for key in _FILES if section.get(key)}
    return {**section, **paths, DIRECTORY: str(directory)}

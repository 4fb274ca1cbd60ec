"""An image as one file that containerd imports: an OCI layout in a tar archive.

Source:
    https://github.com/opencontainers/image-spec/blob/v1.1.0/image-layout.md, config.md, manifest.md
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_MEDIA: Final = "application/vnd.oci.image"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def write(
    archive: Path,
    name: str,
    layers: Sequence[Path],
    *,
    command: Sequence[str],
    environ: Mapping[str, str] | None = None,
) -> Path:
    """Write an image and return its file.

    Args:
        archive: Path of the file.
        name: With a domain and a tag, e.g. ``localhost/busybox:1``.
        layers: Uncompressed tar archives, the lowest first.
        command: Default command of its containers.
        environ: Their environment beside PATH.
    """
    blobs: dict[str, bytes] = {}
    described = [_descriptor("layer.v1.tar", _digest(file), file.stat().st_size) for file in layers]
    config = {
        "architecture": _architecture(),
        "os": "linux",
        "config": {
            "Env": [f"{key}={value}" for key, value in {"PATH": _PATH, **(environ or {})}.items()],
            "Cmd": list(command),
        },
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in described]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}.manifest.v1+json",
        "config": _blob(blobs, "config.v1+json", config),
        "layers": described,
    }
    entry = _blob(blobs, "manifest.v1+json", manifest)
    annotations = {"io.containerd.image.name": name}
    index = {"schemaVersion": 2, "manifests": [{**entry, "annotations": annotations}]}
    with tarfile.open(archive, "w") as tar:
        _add(tar, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _add(tar, "index.json", json.dumps(index).encode())
        for digest, content in blobs.items():
            _add(tar, _place(digest), content)
        for file, layer in zip(layers, described, strict=True):
            tar.add(file, _place(layer["digest"]))
    return archive


def _blob(blobs: dict[str, bytes], kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    content = json.dumps(value).encode()
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    blobs[digest] = content
    return _descriptor(kind, digest, len(content))


def _descriptor(kind: str, digest: str, size_bytes: int) -> dict[str, Any]:
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": digest, "size": size_bytes}


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def _place(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))


def _architecture() -> str:
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)

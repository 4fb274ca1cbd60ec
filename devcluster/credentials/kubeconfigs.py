"""Kubeconfig files with all their data inside."""

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from devcluster.credentials.certificates import Pair


def write_for_certificate(file: Path, server: str, authority: Path, user: str, pair: Pair) -> Path:
    """Write a kubeconfig for a client certificate and return its path."""
    identity = {
        "client-certificate-data": _data(pair.certificate),
        "client-key-data": _data(pair.key),
    }
    return _write(file, server, authority, user, identity)


def write_for_token(file: Path, server: str, authority: Path, user: str, token: Path) -> Path:
    """Write a kubeconfig that reads a bearer token from a file and return its path."""
    return _write(file, server, authority, user, {"tokenFile": str(token)})


def with_server(given: Path, server: str, file: Path) -> Path:
    """Write a copy of a kubeconfig with another server URL; return its path."""
    content = yaml.safe_load(given.read_text())
    for cluster in content["clusters"]:
        cluster["cluster"]["server"] = server
    return _written(file, content)


def _data(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


def _write(
    file: Path, server: str, authority: Path, user: str, identity: Mapping[str, Any]
) -> Path:
    cluster = {"server": server, "certificate-authority-data": _data(authority)}
    name = "shuntyard"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": dict(identity)}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "current-context": name,
    }
    return _written(file, content)


def _written(file: Path, content: Mapping[str, Any]) -> Path:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        yaml.safe_dump(dict(content), stream, sort_keys=False)
    return file

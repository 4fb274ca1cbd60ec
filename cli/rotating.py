"""A new key for signatures: the one that signed so far still counts, the one before it no more."""

import base64
import binascii
import json
from argparse import Namespace
from http import HTTPStatus
from typing import Any, Final, TextIO

from cli import api_server
from cli.api_server import ApiServer
from cli.errors import UnansweredError
from shared import signing_secret
from shared.errors import InputError
from shared.kube import errors, paths

_MEND: Final = "deploy/base/our-keys.yaml brings it"


def run(asked: Namespace, out: TextIO) -> int:
    """Rotate the keys once, with the rights of the caller, and say what follows.

    Raises:
        UnansweredError: The Secret cannot be read or written, or somebody else has changed it.
    """
    server = api_server.of(asked)
    path = paths.namespaced(paths.SECRETS, asked.service.namespace, asked.secret)
    found = _read(server, path)
    had = _data(found, path)
    try:
        new = signing_secret.rotated(had)
    except InputError as error:
        raise UnansweredError(f"{path}: {error}") from error
    body: dict[str, Any] = {
        "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
        "data": {key: base64.b64encode(value).decode() for key, value in new.items()},
    }
    answer = server.patch(path, json.dumps(body).encode())
    if answer.status != HTTPStatus.OK:
        raise UnansweredError(_refused("written", path, answer.status, answer.body))
    print("\n".join(_said(two=signing_secret.PREVIOUS in new)), file=out)
    return 0


def _said(*, two: bool) -> list[str]:
    lines = ["A new key signs from now on; every replica reads it within ten seconds."]
    if two:
        lines += [
            "What was signed with the key before it still counts, until the next rotation:",
            "wait with that until pods that are released now are bound, and migrations have ended.",
        ]
    return lines


def _read(server: ApiServer, path: str) -> dict[str, Any]:
    answer = server.ask(path)
    if answer.status == HTTPStatus.NOT_FOUND:
        raise UnansweredError(f"{path} is not there: {_MEND}")
    if answer.status != HTTPStatus.OK:
        raise UnansweredError(_refused("read", path, answer.status, answer.body))
    found: dict[str, Any] = json.loads(answer.body)
    return found


def _data(found: dict[str, Any], path: str) -> dict[str, bytes]:
    try:
        data = found.get("data") or {}
        return {key: base64.b64decode(value, validate=True) for key, value in data.items()}
    except binascii.Error as error:
        raise UnansweredError(f"{path} holds something that is not base64") from error


def _refused(what: str, path: str, status: int, body: bytes) -> str:
    said = errors.from_response(status, body).message.strip()
    return f"{path} cannot be {what}: {said} (status {status})"

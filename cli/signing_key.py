"""``shuntyard rotate-signing-key``: the previous key stays valid, the one before it does not."""

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

_FIX: Final = "apply deploy/base/our-keys.yaml"


def run(options: Namespace, out: TextIO) -> int:
    """Rotate the keys once, with the user's rights, and print what to wait for.

    Raises:
        UnansweredError: The Secret cannot be read or written, or was changed meanwhile.
    """
    server = api_server.of_options(options)
    path = paths.namespaced(paths.SECRETS, options.service.namespace, options.secret)
    secret = _read(server, path)
    try:
        keys = signing_secret.rotate(_data(secret, path))
    except InputError as error:
        raise UnansweredError(f"{path}: {error}") from error
    body: dict[str, Any] = {
        "metadata": {"resourceVersion": secret["metadata"]["resourceVersion"]},
        "data": {name: base64.b64encode(value).decode() for name, value in keys.items()},
    }
    answer = server.patch(path, json.dumps(body).encode())
    if answer.status != HTTPStatus.OK:
        raise UnansweredError(_refused("written", path, answer.status, answer.body))
    print("\n".join(_report(has_previous=signing_secret.PREVIOUS in keys)), file=out)
    return 0


def _report(*, has_previous: bool) -> list[str]:
    lines = ["A new key signs from now on; every replica reads it within ten seconds."]
    if has_previous:
        lines += [
            "Signatures of the previous key stay valid until the next rotation. Before you rotate",
            "again, wait until all released pods are bound and all open migrations have ended.",
        ]
    return lines


def _read(server: ApiServer, path: str) -> dict[str, Any]:
    answer = server.ask(path)
    if answer.status == HTTPStatus.NOT_FOUND:
        raise UnansweredError(f"{path} not found: {_FIX}")
    if answer.status != HTTPStatus.OK:
        raise UnansweredError(_refused("read", path, answer.status, answer.body))
    secret: dict[str, Any] = json.loads(answer.body)
    return secret


def _data(secret: dict[str, Any], path: str) -> dict[str, bytes]:
    try:
        data = secret.get("data") or {}
        return {name: base64.b64decode(value, validate=True) for name, value in data.items()}
    except binascii.Error as error:
        raise UnansweredError(
            f"{path}: a value is not base64: delete the Secret, then {_FIX}"
        ) from error


def _refused(action: str, path: str, status: int, body: bytes) -> str:
    message = errors.from_response(status, body).message.strip()
    return f"{path} cannot be {action}: {message} (status {status})"

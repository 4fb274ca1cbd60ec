"""Secrets and ConfigMaps: read whole, patched by key, at the version that was read."""

from collections.abc import Mapping
from typing import Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from shared.kube.client import KubeClient
from shared.kube.errors import BrokenAnswerError

Value = TypeVar("Value", bytes, str)


class _Meta(Struct, frozen=True):
    resourceVersion: str = ""  # noqa: N815 - the API's word


class _Object(Struct, Generic[Value], frozen=True):
    metadata: _Meta = _Meta()
    data: dict[str, Value] | None = None


class KeyedData(Struct, Generic[Value], frozen=True):
    """Data of an object, and its version.

    Attributes:
        version: ``metadata.resourceVersion``.
        data: Values by key; a Secret's are decoded.
    """

    version: str
    data: Mapping[str, Value]


_SECRET: Final = msgspec.json.Decoder(_Object[bytes])  # it takes bytes from base64
_CONFIG_MAP: Final = msgspec.json.Decoder(_Object[str])


async def read_secret(client: KubeClient, path: str) -> KeyedData[bytes]:
    """Read a Secret.

    Raises:
        ApiError: It cannot be read.
    """
    return _keyed(path, await client.get(path), _SECRET)


async def read_config_map(client: KubeClient, path: str) -> KeyedData[str]:
    """Read a ConfigMap.

    Raises:
        ApiError: It cannot be read.
    """
    return _keyed(path, await client.get(path), _CONFIG_MAP)


async def write_secret(
    client: KubeClient, path: str, version: str, changes: Mapping[str, bytes]
) -> KeyedData[bytes]:
    """Change keys of a Secret that is still at ``version``; return its new data.

    Raises:
        ConflictError: It has changed.
        ApiError: It cannot be written.
    """
    return _keyed(path, await client.patch(path, _changed(version, changes)), _SECRET)


async def write_config_map(
    client: KubeClient, path: str, version: str, changes: Mapping[str, str]
) -> KeyedData[str]:
    """Change keys of a ConfigMap that is still at ``version``; return its new data.

    Raises:
        ConflictError: It has changed.
        ApiError: It cannot be written.
    """
    return _keyed(path, await client.patch(path, _changed(version, changes)), _CONFIG_MAP)


def _changed(version: str, changes: Mapping[str, Value]) -> Mapping[str, object]:
    return {"metadata": {"resourceVersion": version}, "data": changes}


def _keyed(
    path: str, body: bytes, decoder: "msgspec.json.Decoder[_Object[Value]]"
) -> KeyedData[Value]:
    try:
        decoded = decoder.decode(body)
    except ValueError as error:  # not such JSON, or not UTF-8
        raise BrokenAnswerError(f"{path}: {error}") from error
    return KeyedData(decoded.metadata.resourceVersion, decoded.data or {})

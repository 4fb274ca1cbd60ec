"""Discovery: the API groups and versions of the API server."""

from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import BrokenAnswerError


class Version(Struct, rename="camel"):
    """``versions[]``."""

    group_version: str = ""


class Group(Struct):
    """``groups[]``."""

    versions: list[Version] | None = None


class Groups(Struct):
    """An APIGroupList."""

    groups: list[Group]


_DECODER: Final = msgspec.json.Decoder(Groups)


async def group_versions(client: KubeClient) -> frozenset[str]:
    """Return the served versions of all API groups but the core one, e.g. ``batch/v1``.

    Every authenticated user may read them (``system:discovery``); the response has a few kilobytes.

    Raises:
        ApiError: They cannot be read.
    """
    body = await client.get(paths.GROUPS)
    try:
        listed = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BrokenAnswerError(str(error)) from error
    return frozenset(
        version.group_version for group in listed.groups for version in group.versions or ()
    )

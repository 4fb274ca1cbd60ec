"""Which kinds the API server serves, and under which path.

Source:
    https://kubernetes.io/docs/reference/using-api/api-concepts/#api-terminology
"""

import re
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Struct

from cli import connection
from cli.connection import AnyApiServer
from cli.dry_run.verdicts import Unchecked

_VERSION: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/)?v[a-z0-9]+")
_NOT_FOUND: Final = 404


@dataclass(frozen=True)
class Resource:
    """A kind that is served.

    Attributes:
        path: Of its collection, over all namespaces.
        name: In the plural, as RBAC names it: ``jobs.batch``.
        namespaced: Whether its objects are in namespaces.
    """

    path: str
    name: str
    namespaced: bool


class _Resource(Struct):
    name: str
    kind: str
    namespaced: bool = False


class _Resources(Struct):
    """An APIResourceList."""

    resources: list[_Resource] = []


@dataclass
class Served:
    """Asks for each version of an API group once."""

    server: AnyApiServer
    _known: dict[str, list[_Resource] | None] = field(default_factory=dict)

    def find(self, api_version: str, kind: str) -> Resource | Unchecked:
        """Return where objects of a kind are created.

        Raises:
            UnansweredError: The API server cannot be reached.
        """
        absent = Unchecked(f"the API server has no kind {kind} of {api_version}", lasting=True)
        if not _VERSION.fullmatch(api_version):
            return absent
        parent = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if api_version not in self._known:
            self._known[api_version] = self._asked(parent)
        found = self._known[api_version]
        if found is None:
            return Unchecked(f"the API server does not say which kinds of {api_version} it serves")
        for one in found:
            if one.kind == kind and "/" not in one.name:
                group = api_version.rpartition("/")[0]
                name = f"{one.name}.{group}" if group else one.name
                return Resource(f"{parent}/{one.name}", name, one.namespaced)
        return absent

    def _asked(self, path: str) -> list[_Resource] | None:
        """Return the kinds below a path; None if nobody says."""
        answer = self.server.ask(path)
        if answer.status == _NOT_FOUND:
            return []
        if answer.status != connection.OK:
            return None
        try:
            return msgspec.json.decode(answer.body, type=_Resources).resources
        except ValueError:
            return None

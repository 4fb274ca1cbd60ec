"""The kinds that the API server serves, and their paths.

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
    """A served kind.

    Attributes:
        path: Of its collection, over all namespaces.
        name: Plural, as in RBAC: ``jobs.batch``.
        namespaced: Whether its objects are in namespaces.
    """

    path: str
    name: str
    namespaced: bool

    def collection(self, namespace: str) -> str:
        """Return the path of its objects in a namespace; empty: of those that are in none."""
        if not namespace:
            return self.path
        parent, plural = self.path.rsplit("/", 1)
        return f"{parent}/namespaces/{namespace}/{plural}"


class _Resource(Struct):
    name: str
    kind: str
    namespaced: bool = False


class _Resources(Struct):
    """An APIResourceList."""

    resources: list[_Resource] = []


@dataclass
class Served:
    """Discovery; each version of an API group is requested once."""

    server: AnyApiServer
    _by_version: dict[str, list[_Resource] | None] = field(default_factory=dict)

    def find(self, api_version: str, kind: str) -> Resource | Unchecked:
        """Return the resource of a kind; ``Unchecked`` if there is none.

        Raises:
            UnansweredError: The API server cannot be reached.
        """
        absent = Unchecked(f"the API server has no kind {kind} of {api_version}", lasting=True)
        if not _VERSION.fullmatch(api_version):
            return absent
        parent = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        if api_version not in self._by_version:
            self._by_version[api_version] = self._listed(parent)
        resources = self._by_version[api_version]
        if resources is None:
            return Unchecked(f"the API server does not list the kinds of {api_version}")
        for resource in resources:
            if resource.kind == kind and "/" not in resource.name:
                group = api_version.rpartition("/")[0]
                name = f"{resource.name}.{group}" if group else resource.name
                return Resource(f"{parent}/{resource.name}", name, resource.namespaced)
        return absent

    def _listed(self, path: str) -> list[_Resource] | None:
        """Return the kinds below a path; None if they cannot be listed."""
        answer = self.server.ask(path)
        if answer.status == _NOT_FOUND:
            return []
        if answer.status != connection.OK:
            return None
        try:
            return msgspec.json.decode(answer.body, type=_Resources).resources
        except ValueError:
            return None

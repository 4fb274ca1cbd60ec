"""The resources of the fake API server, and its discovery answers at ``/apis``."""

from collections.abc import Iterable
from typing import Any

from shared.kube import paths
from tests.fakes.kube_errors import Refusal
from tests.fakes.kube_request import BUILT_IN


def check(collection: str, installed: Iterable[str], absent: Iterable[str]) -> None:
    """Refuse a missing resource, with the message of the real server."""
    built_in = collection.startswith("/api/") or paths.group_version(collection) in BUILT_IN
    if collection in absent or not (built_in or collection in installed):
        raise Refusal(404, "NotFound", "the server could not find the requested resource")


def groups(installed: Iterable[str], absent: Iterable[str]) -> dict[str, Any]:
    """Return the APIGroupList; a group of which something is absent is left out whole."""
    lacking = {paths.group_version(collection) for collection in absent}
    there = {*BUILT_IN, *map(paths.group_version, installed)} - lacking
    by_group: dict[str, list[dict[str, str]]] = {}
    for group_version in sorted(there):
        group, version = group_version.split("/")
        one = {"groupVersion": group_version, "version": version}
        by_group.setdefault(group, []).append(one)
    listed = [{"name": name, "versions": versions} for name, versions in by_group.items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}

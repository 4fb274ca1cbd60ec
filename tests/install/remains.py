"""Everything that a cluster has, so that what was left behind is what is there now and was not."""

import json
from collections.abc import AsyncIterator

from shared.kube.client import KubeClient
from shared.kube.errors import ApiError

_PASSING = frozenset({"componentstatuses", "events"})
"""What tells of others: no API server keeps it for long."""


async def objects(client: KubeClient) -> set[str]:
    """Return ``resource namespace/name`` of every object of every kind."""
    found = set()
    async for path, resource in _collections(client):
        try:
            listed = json.loads(await client.get(path))
        except ApiError:  # of a kind that is going away with its definition
            continue
        for item in listed.get("items") or ():
            metadata = item["metadata"]
            found.add(f"{resource} {metadata.get('namespace', '')}/{metadata['name']}")
    return found


async def _collections(client: KubeClient) -> AsyncIterator[tuple[str, str]]:
    """Yield path and name of every kind of objects that can be listed."""
    groups = json.loads(await client.get("/apis"))["groups"]
    versions = [f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups]
    for version in ("/api/v1", *versions):
        try:
            resources = json.loads(await client.get(version))["resources"]
        except ApiError:  # likewise
            continue
        for resource in resources:
            name = resource["name"]
            if "/" not in name and name not in _PASSING and "list" in resource["verbs"]:
                yield f"{version}/{name}", name

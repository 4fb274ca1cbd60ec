"""Templates of bare pods: kept in their Migration before anything is evicted, used after it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from extender.engine.migration.commands import RecreatePod
from extender.loops import bare_pods
from shared import labels
from shared.kube import paths, writes
from shared.kube.client import KubeClient
from shared.kube.errors import NotFoundError, OddObjectError
from shared.model import Migration, Mover


async def of(client: KubeClient, migration: Migration) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the templates that a Migration has to keep, by uid of the pod; None: a pod is gone."""
    kept: dict[str, Mapping[str, Any]] = {}
    for member in migration.members if migration.mover is Mover.RECREATE else ():
        try:
            raw = await client.get(paths.pod(migration.namespace, member.pod))
        except NotFoundError:
            return None
        live = msgspec.json.decode(raw)
        if live["metadata"]["uid"] != member.uid:
            return None
        made = bare_pods.replacement(live)
        made["metadata"]["annotations"][labels.MIGRATION] = migration.key
        kept[member.uid] = made
    return kept


async def recreate(client: KubeClient, action: RecreatePod) -> None:
    """Make the pod again, as its Migration says.

    Raises:
        AlreadyExistsError: It is there.
        OddObjectError: The Migration keeps no template of it.
    """
    namespace, _, name = action.migration.partition("/")
    raw = msgspec.json.decode(await client.get(paths.migration(namespace, name)))
    for member in raw["spec"]["members"]:
        if member["uid"] == action.uid and "template" in member:
            await writes.create_pod(client, namespace, member["template"])
            return
    raise OddObjectError(action.migration, f"there is no template of {action.name}")

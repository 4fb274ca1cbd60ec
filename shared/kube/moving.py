"""The writes of a migration: evict, suspend and resume, and its own object.

As in ``shared.kube.writes`` each has a precondition and is safe to repeat.
"""

from collections.abc import Callable, Mapping
from typing import Any

from shared import labels, model
from shared.kube import migrations, paths
from shared.kube.client import KubeClient
from shared.kube.errors import AlreadyExistsError
from shared.model import PodKey, Uid


async def evict(client: KubeClient, key: PodKey, uid: Uid, *, dry_run: bool = False) -> None:
    """Evict the pod with ``uid``, or check whether that would be allowed.

    Raises:
        ThrottledError: A disruption budget forbids it now.
        ConflictError: There is another pod of that name now.
        NotFoundError: It is gone.
    """
    namespace, _, name = key.partition("/")
    options: dict[str, Any] = {"preconditions": {"uid": uid}}
    if dry_run:
        options["dryRun"] = ["All"]
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": namespace, "name": name},
        "deleteOptions": options,
    }
    await client.post(paths.eviction(namespace, name), body)


async def suspend(client: KubeClient, namespace: str, job: model.Owner, migration: str) -> bytes:
    """Suspend a Job if unchanged, and annotate it with the Migration (``namespace/name``).

    Raises:
        ConflictError: It has changed, or there is another of that name.
        NotFoundError: It is gone.
    """
    metadata = {
        "uid": job.uid,
        "resourceVersion": job.resource_version,
        "annotations": {labels.MIGRATION: migration},
    }
    body = {"metadata": metadata, "spec": {"suspend": True}}
    return await client.patch(paths.job(namespace, job.name), body)


async def resume(client: KubeClient, namespace: str, name: str, uid: Uid) -> bytes:
    """Let the Job with ``uid`` go on.

    Raises:
        ConflictError: There is another of that name.
        NotFoundError: It is gone.
    """
    metadata = {"uid": uid, "annotations": {labels.MIGRATION: None}}
    body = {"metadata": metadata, "spec": {"suspend": False}}
    return await client.patch(paths.job(namespace, name), body)


async def create_migration(
    client: KubeClient,
    migration: model.Migration,
    templates: Mapping[str, Mapping[str, Any]],
    sign: Callable[[str], Mapping[str, str]] = lambda _digest: {},
) -> bytes | None:
    """Create a Migration; its name is the precondition. None: it exists already.

    Args:
        client: Client of the API server.
        migration: Its spec is created.
        templates: Pod templates by uid.
        sign: Returns the annotations that sign a spec with this digest.
    """
    body = migrations.manifest(migration, templates)
    body["metadata"]["annotations"] = dict(sign(migrations.digest(body["spec"])))
    try:
        return await client.post(paths.migrations(migration.namespace), body)
    except AlreadyExistsError:
        return None


async def write_status(client: KubeClient, migration: model.Migration) -> bytes:
    """Replace the status of a Migration that is unchanged since it was read.

    Raises:
        ConflictError: It has changed, or there is another of that name.
        NotFoundError: It is gone.
    """
    metadata = {"uid": migration.uid, "resourceVersion": migration.resource_version}
    path = paths.migration(migration.namespace, migration.name, "status")
    return await client.patch(path, {"metadata": metadata, "status": migrations.status(migration)})


async def remove_migration(client: KubeClient, migration: model.Migration) -> None:
    """Delete a Migration that is unchanged since it was read.

    Raises:
        ConflictError: It has changed.
        NotFoundError: It is gone.
    """
    await client.delete(
        paths.migration(migration.namespace, migration.name),
        uid=migration.uid,
        resource_version=migration.resource_version,
    )

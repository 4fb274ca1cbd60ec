"""Whom to trust is written into a ConfigMap, for those who must know it: agents."""

from collections.abc import Iterable

from extender.core import certificates
from shared.kube import keyed_data, paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, ConflictError, ForbiddenError, NotFoundError


def config_maps(namespaces: Iterable[str], name: str) -> tuple[str, ...]:
    """Return the paths of the ConfigMaps of a name in those namespaces."""
    return tuple(paths.namespaced(paths.CONFIG_MAPS, one, name) for one in namespaces)


async def publish(client: KubeClient, path: str, trusted: str) -> str | None:
    """Have a ConfigMap say whom to trust; return what is in the way, None if nothing is.

    Args:
        client: The API server.
        path: The ConfigMap's.
        trusted: Certificates of authorities, PEM.
    """
    verb = "get"
    try:
        kept = await keyed_data.read_config_map(client, path)
        if kept.data.get(certificates.AUTHORITY) != trusted:
            verb = "patch"
            changes = {certificates.AUTHORITY: trusted}
            await keyed_data.write_config_map(client, path, kept.version, changes)
    except ConflictError:
        return None  # the other replica did it, or the next look does
    except ApiError as error:
        return hindered(verb, path, error)
    return None


def hindered(verb: str, path: str, error: ApiError) -> str:
    """Return what is missing where the API server refuses."""
    match error:
        case ForbiddenError():
            return f"the right to {verb} {path} is missing (deploy/base/certificates.yaml): {error}"
        case NotFoundError():
            return f"{path} does not exist, and is not made by us (deploy/base): {error}"
        case _:
            return f"{verb} {path}: {error}"

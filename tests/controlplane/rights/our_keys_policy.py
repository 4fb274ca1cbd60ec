"""The policy that reserves our annotations, removed for tests that write in the extender's place.

``Cluster.start_shuntyard`` puts it in force again.
"""

import contextlib
from typing import Final

from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ForbiddenError, NotFoundError
from tests.fakes.eventually import eventually

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
BINDING: Final = f"{ADMISSION}/validatingadmissionpolicybindings/shuntyard-our-keys"
PATIENCE_SECONDS: Final = 60.0


async def lift(client: KubeClient) -> None:
    """Delete the binding, if there is one, and wait until the API server has noticed."""
    with contextlib.suppress(NotFoundError):
        await client.delete(BINDING)
    await eventually(lambda: is_lifted(client), PATIENCE_SECONDS, "the policy is off")


async def is_lifted(client: KubeClient) -> bool:
    """Return True if the server accepts a pod with a reservation, without creating it."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "forged", "annotations": {labels.NODE: "n"}},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    try:
        await client.post(paths.pods("default"), body, {"dryRun": "All"})
    except ForbiddenError:
        return False
    return True

"""The policy that gates new pods (``deploy/components/gate``), on and off.

Off, its binding is for no namespace, and all objects stay: an API server of 1.36 that loses the
last binding with a ConfigMap as parameter stops its watch of ConfigMaps for policies, and does not
start it again. A policy that is installed later goes by what the ConfigMap had then.
"""

from typing import Final

from devcluster import api
from devcluster.credentials import bootstrap
from shared.kube import paths
from shared.kube.client import KubeClient

CONFIG_MAP: Final = "shuntyard-gate"
PATH: Final = paths.namespaced(paths.CONFIG_MAPS, "shuntyard-system", CONFIG_MAP)
_NOWHERE: Final = {"namespaceSelector": {"matchLabels": {"shuntyard.io/policies": "none"}}}


async def install(client: KubeClient) -> None:
    """Bring the policy, on, and its ConfigMap without data; the namespace must be there."""
    await api.apply(client, bootstrap.gate_manifests())
    await client.patch(PATH, {"data": None})


async def switch_off(client: KubeClient) -> None:
    """Let new pods be as their manifests have them; the policy must be there."""
    (binding,) = (
        one for one in bootstrap.gate_manifests() if one["kind"] == "MutatingAdmissionPolicyBinding"
    )
    spec = {**binding["spec"], "matchResources": _NOWHERE}
    await api.apply(client, [{**binding, "spec": spec}])

"""The admission policy that gates our pods while jobs lack room, for one contestant of ``gang``."""

import contextlib
import json
from collections.abc import Iterator
from typing import Final

from bench.gang.shapes import NAMESPACE, Kind, Shape
from devcluster import api
from devcluster.cluster import Cluster
from devcluster.shuntyard import gate_policy
from extender.core.gating.decision import KEY
from shared import labels
from shared.kube import keyed_data, paths
from shared.kube.client import KubeClient

SETTINGS: Final = {"gating": {"config_map": gate_policy.CONFIG_MAP}}
_SECONDS: Final = 60.0
_ANY: Final = Shape(1, 1)


@contextlib.contextmanager
def installed(cluster: Cluster) -> Iterator[None]:
    """Install the policy before the extender starts, wait until it gates; at the end undo it."""
    cluster.apply_roles()
    api.call(cluster.kubeconfig, gate_policy.install)
    api.call(cluster.kubeconfig, lambda client: api.poll(lambda: _gates(client), _SECONDS))
    try:
        yield
    finally:
        api.call(cluster.kubeconfig, gate_policy.switch_off)


async def opened(client: KubeClient) -> None:
    """Wait until new pods get no gate, because no job lacks room.

    Raises:
        TimeoutError: They still do after a minute.
    """

    async def is_open() -> bool:
        kept = await keyed_data.read_config_map(client, gate_policy.PATH)
        return kept.data.get(KEY) == "false" and not await _gates(client)

    await api.poll(is_open, _SECONDS)


async def _gates(client: KubeClient) -> bool:
    (pod,) = _ANY.manifests(Kind.POLICY, "gated-or-not")
    made = await client.post(paths.pods(NAMESPACE), pod, params={"dryRun": "All"})
    gates = json.loads(made)["spec"].get("schedulingGates", ())
    return {"name": labels.GATE} in gates

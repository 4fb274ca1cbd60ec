"""The decision log has no byte of what users put beside the fields that we read (defect A9)."""

import asyncio
import json
from pathlib import Path

from shared import labels
from shared.kube import paths
from tests.component.shell import MiniScheduler, bound, extender, lease, node, pod
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube

CANARY = "canary-of-a-secret"


def secretive(name: str, **metadata: object) -> dict[str, object]:
    """A pod of a gang of two with secrets wherever people put them."""
    one = pod(name, job="secretive", size=2)
    main = one["spec"]["containers"][0]
    main |= {"env": [{"name": "TOKEN", "value": CANARY}], "args": [f"--password={CANARY}"]}
    main |= {"envFrom": [{"secretRef": {"name": CANARY}}], "command": ["sh", "-c", CANARY]}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(one["spec"])}
    one["metadata"]["annotations"] |= {**applied, "example.com/token": CANARY}
    one["metadata"] |= {"managedFields": [{"manager": CANARY, "fieldsV1": {CANARY: {}}}]}
    one["metadata"] |= metadata
    return one


async def test_a_secret_of_a_pod_or_its_owner_is_in_no_segment(tmp_path: Path) -> None:
    """Written by cycles, answers to filter, Bindings and several openings."""
    section = {"directory": tmp_path, "segment_bytes": 2**16}
    secret = secretive("any")["metadata"]["annotations"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}
    job = {
        "metadata": {"name": "j", "namespace": "default", "annotations": secret},
        "spec": {"parallelism": 2, "completions": 2, "template": {"spec": {"env": CANARY}}},
    }
    space = {"metadata": {"name": "default", "annotations": {"note": CANARY}}}
    async with FakeKube.running() as fake, lease(fake):
        fake.put(paths.NAMESPACES, space)
        fake.put(paths.JOBS, job)
        owner["uid"] = fake.object(paths.JOBS, "j", "default")["metadata"]["uid"]
        fake.put(paths.NODES, node("a"))
        for number in range(2):
            fake.put(paths.PODS, secretive(f"s-{number}", ownerReferences=[owner]))
        async with (
            extender(fake, decision_log=section) as running,
            MiniScheduler(fake, running.scheduler_url).running(),
        ):
            await eventually(lambda: len(bound(fake)) == 2)
            for i in range(200):
                fake.put(
                    paths.NODES,
                    node(f"n-{i}")
                    | {"metadata": {"name": f"n-{i}", "annotations": {"note": CANARY}}},
                )
            await eventually(lambda: asyncio.to_thread(lambda: len(_segments(tmp_path)) > 1))
    found = await asyncio.to_thread(lambda: b"".join(map(Path.read_bytes, _segments(tmp_path))))
    assert b'"kind":"filter"' in found
    assert b'"s-1"' in found
    assert labels.MIN_AVAILABLE.encode() in found
    assert CANARY.encode() not in found


def _segments(directory: Path) -> list[Path]:
    return sorted(directory.glob("decisions-*"))

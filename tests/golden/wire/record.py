"""Record what a real kube-scheduler sends: one call per verb and mode, byte for byte.

    KUBECONFIG=<a cluster with nodes> python tests/golden/wire/record.py <kube-scheduler binary>

``names`` is nodeCacheCapable, ``nodes`` is not; bind is the same in both. Overwrites the inputs of
the golden cases beside this file; then run tests/unit/http with ``--update-golden`` and read the
difference. The inputs here are kube-scheduler 1.36.3's.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from aiohttp import web

from shared.kube import auth, paths
from shared.kube.client import KubeClient

HERE = Path(__file__).parent
WAIT_SECONDS = 60.0
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "train-worker-0",
        "namespace": "default",
        "labels": {"shuntyard.io/job": "train", "shuntyard.io/role": "worker"},
        "annotations": {"shuntyard.io/min-available": "2"},
    },
    "spec": {
        "schedulerName": "recorded",
        "restartPolicy": "Never",
        "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
        "containers": [
            {
                "name": "train",
                "image": "example.com/train:1",
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
            }
        ],
    },
}


class Recorder:
    """Passes every node, scores all alike, refuses to bind; keeps the bodies."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.complete = asyncio.Event()

    async def answer(self, request: web.Request) -> web.Response:
        verb, body = request.path.strip("/"), await request.read()
        self.bodies.setdefault(verb, body)
        if {"filter", "prioritize", "bind"} <= self.bodies.keys():
            self.complete.set()
        asked = json.loads(body)
        if verb == "filter":
            passed = {"Nodes": asked["Nodes"], "NodeNames": asked["NodeNames"]}
            return web.json_response(passed)
        if verb == "prioritize":
            names = asked["NodeNames"] or [n["metadata"]["name"] for n in asked["Nodes"]["items"]]
            return web.json_response([{"Host": name, "Score": 1} for name in names])
        return web.json_response({"Error": "recorded"})


def configuration(port: int, *, names_only: bool) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": os.environ["KUBECONFIG"]},
        "profiles": [{"schedulerName": "recorded"}],
        "extenders": [
            {
                "urlPrefix": f"http://127.0.0.1:{port}",
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "bindVerb": "bind",
                "weight": 1,
                "nodeCacheCapable": names_only,
            }
        ],
    }


async def record(binary: str, *, names_only: bool) -> dict[str, bytes]:
    recorder, app = Recorder(), web.Application(client_max_size=2**26)
    app.router.add_post("/{verb}", recorder.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(configuration(port, names_only=names_only), file)
        file.flush()
        flags = (f"--config={file.name}", "--secure-port=0")
        quiet = asyncio.subprocess.DEVNULL
        scheduler = await asyncio.create_subprocess_exec(binary, *flags, stderr=quiet)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await recorder.complete.wait()
        finally:
            scheduler.terminate()
            await scheduler.wait()
            await runner.cleanup()
    return recorder.bodies


async def record_all(client: KubeClient, binary: str) -> dict[str, bytes]:
    """Return the bodies by the name of their golden case."""
    await client.post(paths.pods("default"), POD)
    try:
        names = await record(binary, names_only=True)
        nodes = await record(binary, names_only=False)
    finally:
        await client.delete(paths.pod("default", POD["metadata"]["name"]), grace_seconds=0)
    found = {f"{verb}-names": names[verb] for verb in ("filter", "prioritize")}
    found |= {f"{verb}-nodes": nodes[verb] for verb in ("filter", "prioritize")}
    return {**found, "bind-pod": names["bind"]}


async def main(binary: str) -> None:
    credentials = auth.load(Path(os.environ["KUBECONFIG"]))
    async with KubeClient.connect(credentials) as client:
        for name, body in (await record_all(client, binary)).items():
            (HERE / f"{name}.input.json").write_bytes(body)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

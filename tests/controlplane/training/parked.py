"""The record of the elastic job's parking, and what the command line says about it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Final

from bench.specon.jobs import Manifest
from devcluster import api
from devcluster.shuntyard.extender_process import ACCOUNT, NAMESPACE, merged
from shared import labels
from shared.kube import paths
from tests.controlplane import training_yard
from tests.controlplane.training.elastic_job import PATIENCE_SECONDS, elastic
from tests.controlplane.training_yard import TrainingYard
from tests.fakes.eventually import eventually

TOKEN_SECONDS: Final = 600
SETTINGS: Final = merged(
    training_yard.SETTINGS,
    {
        "preemption": {
            "enabled": True,
            "interval_seconds": 0.3,
            "least_wait_seconds": 1,
            "least_run_seconds": 1,
            "rest_seconds": 1,
            "checkpoint_seconds": 12,
            "hold_seconds": 15,
            "resume_seconds": 30,
        }
    },
)


async def record(yard: TrainingYard) -> dict[str, Any]:
    """The record of the gang's parking; empty if it has none."""
    body = await yard.client.get(paths.job(yard.team, elastic().name))
    notes: dict[str, Any] = json.loads(body)["metadata"].get("annotations") or {}
    found: dict[str, Any] = json.loads(notes.get(labels.PARKING, "{}"))
    return found


async def reached(yard: TrainingYard, wanted: str) -> None:
    async def check() -> bool:
        return (await record(yard)).get("phase") == wanted

    await eventually(check, PATIENCE_SECONDS, wanted)


async def cost(yard: TrainingYard) -> dict[str, Any]:
    """What the parking has cost, once the restart is measured."""

    async def measured() -> dict[str, Any]:
        found: dict[str, Any] = (await record(yard)).get("cost", {})
        assert "restart_seconds" in found, found
        return found

    return await eventually(measured, PATIENCE_SECONDS, "the restart is measured")


async def shown(yard: TrainingYard, tmp_path: Path, *argv: str) -> str:
    """What the command prints, on one line."""
    token = tmp_path / "token"
    token.write_text(await api.request_token(yard.client, NAMESPACE, ACCOUNT, TOKEN_SECONDS))
    reader = ("--url", yard.cluster.extender_url, "--token-file", str(token))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", *argv, *reader), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return " ".join(printed.decode().split())


async def what_if_names(
    yard: TrainingYard, tmp_path: Path, job: Manifest, cause: str, namespace: str
) -> None:
    """Wait until what-if says that the gang would leave for a job that is not submitted."""
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    argv = ("what-if", "-f", str(file), "-n", namespace)

    async def is_named() -> bool:
        printed = await shown(yard, tmp_path, *argv)
        assert would_leave(cause) in printed, printed
        return True

    await eventually(is_named, PATIENCE_SECONDS, "what-if names the gang that would leave")


def would_leave(cause: str) -> str:
    return f"job/{elastic().name} is parked for it ({cause}): it costs about"

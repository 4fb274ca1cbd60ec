"""`shuntyard doctor` against a real API server."""

import asyncio
import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from devcluster.options import KwokNodes
from tests.controlplane.yard import Yard
from tests.fakes.eventually import eventually

pytestmark = pytest.mark.controlplane

DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/migrations.shuntyard.io"


async def doctor(kubeconfig: Path) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """Return the exit code, and the findings by check."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "cli", "doctor", "--kubeconfig", str(kubeconfig), "-o", "json"),
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    by_check: dict[str, list[dict[str, Any]]] = {}
    for entry in json.loads(printed)["entries"]:
        by_check.setdefault(entry["check"], []).append(entry)
    return process.returncode or 0, by_check


@pytest.fixture
async def stranger(yard: Yard) -> Path:
    """The kubeconfig of a user without any right."""
    return await asyncio.to_thread(yard.cluster.kubeconfig_for, "stranger")


async def test_an_administrator_gets_all_checks(yard: Yard) -> None:
    """The extender of the devcluster is not a Deployment, and there are no agents here."""
    await yard.nodes(KwokNodes(1, cpu="4"))

    async def reported() -> Any:
        _, found = await doctor(yard.cluster.kubeconfig)
        (heartbeats,) = [one for one in found["agents"] if "node" in one["message"]]
        assert "no agent reports to the extender from 1 of 1" in heartbeats["message"]
        assert [one["level"] for one in found["read-api"]] == ["ok"], found["read-api"]
        return found

    found = await eventually(reported, 60, "the extender knows the node, and acts")
    levels = {check: [one["level"] for one in entries] for check, entries in found.items()}
    assert levels["versions"][0] == "ok", found["versions"]
    assert set(levels["clock"]) == {"ok"}, found["clock"]
    assert levels["definition"] == ["ok"]
    assert "fault" not in levels["rights"], found["rights"]
    assert levels["lease"][0] == "ok", found["lease"]
    assert levels["neighbours"] == ["ok"]
    assert levels["deployment"] == ["fault"]
    assert levels["configuration"] == ["not known"]
    assert all(one["fix"] for ones in found.values() for one in ones if one["level"] == "fault")


async def test_a_definition_that_lacks_a_field_is_found(yard: Yard) -> None:
    before = json.loads(await yard.client.get(DEFINITION))["spec"]["versions"]
    versions = copy.deepcopy(before)
    schema = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del schema["members"]["items"]["properties"]["hostPorts"]

    async def found(level: str) -> list[dict[str, Any]]:
        _, by_check = await doctor(yard.cluster.kubeconfig)
        assert [one["level"] for one in by_check["definition"]] == [level]
        return by_check["definition"]

    try:
        await yard.client.patch(DEFINITION, {"spec": {"versions": versions}})
        (lacking,) = await eventually(lambda: found("fault"), 60, "the schema is published")
        assert "drops spec.members.hostPorts" in lacking["message"]
    finally:
        await yard.client.patch(DEFINITION, {"spec": {"versions": before}})
    await eventually(lambda: found("ok"), 60, "and again")


async def test_doctor_names_the_rights_that_a_user_needs(stranger: Path) -> None:
    code, found = await doctor(stranger)
    assert code == 0
    entries = [one for ones in found.values() for one in ones]
    assert {one["level"] for one in entries} == {"ok", "not known"}, entries
    assert {"ok"} == {one["level"] for one in (*found["definition"], *found["versions"][:1])}
    assert all("right" in one["message"] for one in entries if one["level"] == "not known"), entries

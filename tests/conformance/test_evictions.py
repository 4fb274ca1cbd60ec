"""Evictions, with disruption budgets, as migrations and rescales need them."""

from typing import Any

import pytest

from shared.kube import moving, paths, writes
from shared.kube.errors import (
    ConflictError,
    NotFoundError,
    ServerError,
    ThrottledError,
)
from tests.conformance.conftest import NODE, OTHER_UID, PATIENCE_SECONDS, Server, loaded, ref
from tests.fakes.eventually import eventually


async def running(server: Server, name: str = "a", **metadata: Any) -> dict[str, Any]:
    """A pod on a node, reported ready as by a kubelet."""
    pod = await server.pod(name, metadata=metadata)
    await writes.bind(server.client, *ref(pod), NODE)
    path = paths.pod(server.namespace, name, "status")
    ready = [{"type": "Ready", "status": "True"}]
    return loaded(
        await server.client.patch(path, {"status": {"phase": "Running", "conditions": ready}})
    )


async def budget(server: Server, *, allowed: int) -> None:
    """A budget over all pods labelled app=x, of which one runs, once it is reckoned."""
    spec = {"minAvailable": 1 - allowed, "selector": {"matchLabels": {"app": "x"}}}
    body = {"metadata": {"name": "budget"}, "spec": spec}
    if server.fake is not None:
        head = {"name": "budget", "namespace": server.namespace}
        status = {"disruptionsAllowed": allowed}
        server.fake.put(paths.DISRUPTION_BUDGETS, {**body, "metadata": head, "status": status})
        return
    await server.create(paths.DISRUPTION_BUDGETS, body)
    await eventually(lambda: _reckoned(server, allowed), PATIENCE_SECONDS)


async def _reckoned(server: Server, allowed: int) -> bool:
    found = await server.get("budget", paths.DISRUPTION_BUDGETS)
    status = found.get("status", {})
    known = status.get("observedGeneration") == found["metadata"].get("generation")
    return bool(known and status.get("currentHealthy") and status["disruptionsAllowed"] == allowed)


async def test_an_evicted_pod_is_being_deleted(server: Server) -> None:
    pod = await running(server)
    await moving.evict(server.client, *ref(pod))
    assert await server.deleting()
    await moving.evict(server.client, *ref(pod))  # a second eviction changes nothing


async def test_a_dry_run_evicts_no_pod(server: Server) -> None:
    pod = await running(server)
    await moving.evict(server.client, *ref(pod), dry_run=True)
    assert not await server.deleting()


async def test_another_pod_of_the_name_is_not_evicted(server: Server) -> None:
    key, _ = ref(await running(server))
    for dry_run in (True, False):
        with pytest.raises(ConflictError):
            await moving.evict(server.client, key, OTHER_UID, dry_run=dry_run)
    assert not await server.deleting()


async def test_a_missing_pod_is_not_evicted(server: Server) -> None:
    key, uid = ref(await server.pod("a"))
    await writes.delete_pod(server.client, key, uid)
    with pytest.raises(NotFoundError):
        await moving.evict(server.client, key, uid)


async def test_a_budget_refuses_an_eviction_also_a_dry_run(server: Server) -> None:
    pod = await running(server, labels={"app": "x"})
    await budget(server, allowed=0)
    for dry_run in (True, False):
        with pytest.raises(ThrottledError, match="disruption budget"):
            await moving.evict(server.client, *ref(pod), dry_run=dry_run)
    assert not await server.deleting()


async def test_a_budget_allows_evictions_up_to_its_limit(server: Server) -> None:
    pod = await running(server, labels={"app": "x"})
    await budget(server, allowed=1)
    await moving.evict(server.client, *ref(pod), dry_run=True)
    await moving.evict(server.client, *ref(pod))
    assert await server.deleting()


async def test_two_budgets_over_a_pod_are_an_error_of_the_server(server: Server) -> None:
    pod = await running(server, labels={"app": "x"})
    await budget(server, allowed=1)
    body = {"spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "x"}}}}
    await server.create(paths.DISRUPTION_BUDGETS, {"metadata": {"name": "more"}, **body})
    with pytest.raises(ServerError, match="more than one PodDisruptionBudget"):
        await moving.evict(server.client, *ref(pod))

"""A bare pod is replaced so that no two copies of it run; a pod deleted by its user stays deleted.

The gang of the tests cannot become whole until a second node exists: one of its pods is pinned to
a node that does not exist. So it is dissolved (defects E1, E2).
"""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from tests.component.cluster_life import ClusterLife
from tests.component.shell import MiniScheduler, extender, lease, node, pod
from tests.controlplane.moving.copies import alive, doubled, member, most_alive
from tests.controlplane.watching import History, annotation, is_gated, recording
from tests.fakes import kube_faults
from tests.fakes.eventually import eventually
from tests.fakes.kube import FakeKube
from tests.fakes.kube_request import Target

SIZE = 4
MEMBERS = {f"j-{i}" for i in range(SIZE)}
LAST = f"j-{SIZE - 1}"
OTHERS = MEMBERS - {LAST}
JOB = "default/j"
PATIENCE_SECONDS = 30.0
UNAVAILABLE = kube_faults.Answer(503, "ServiceUnavailable")
GANG = {"most_backoff_seconds": 0.5}
BELIEVED = {"signing": {"secret": None}}
"""The reservations in these tests are the extender's own; signed ones cannot come from outside."""
WRITES = {
    "mark": ("patch", "*/pods/j-?"),
    "copy": ("create", "*/namespaces/default/pods"),
    "confirmation": ("patch", "*/pods/j-?-r????????"),
    "deletion": ("delete", "*/pods/j-?"),
}


@pytest.fixture
async def fake() -> AsyncIterator[FakeKube]:
    async with FakeKube.running() as server, lease(server):
        server.put(paths.NODES, node("a", cpu=str(SIZE - 1)))
        yield server


@contextlib.asynccontextmanager
async def witnessed(fake: FakeKube) -> AsyncIterator[History]:
    """Record what happens; at no moment could two copies of one member run."""
    async with KubeClient.connect(fake.credentials) as client, recording(client) as history:
        yield history
        await history.caught_up(client)
    assert doubled(history) == ()
    assert most_alive(history, JOB) <= SIZE


def put_broken_gang(fake: FakeKube) -> None:
    """Put a gang of bare pods; the last one is released to a node that does not exist."""
    for name in sorted(MEMBERS):
        last = name == LAST
        fake.put(paths.PODS, _released(name, "c") if last else _bound(name))


def put_refused_gang(fake: FakeKube) -> None:
    """Put a gang of bare pods; the kubelet has refused the last one."""
    for name in sorted(MEMBERS):
        made = _bound(name)
        if name == LAST:
            made["status"] = {"phase": "Failed", "reason": "OutOfcpu"}
        fake.put(paths.PODS, made)


def _released(name: str, to: str) -> dict[str, Any]:
    made = pod(name, job="j", size=SIZE)
    reservation = {labels.PLAN: "p", labels.PLAN_SIZE: str(SIZE), labels.NODE: to}
    made["metadata"]["annotations"] |= reservation
    made["spec"].pop("schedulingGates")
    return made


def _bound(name: str) -> dict[str, Any]:
    made = _released(name, "a")
    made["spec"]["nodeName"] = "a"
    return {**made, "status": {"phase": "Running"}}


def delete_gang(fake: FakeKube) -> None:
    """Delete the gang's pods by their first names, as ``kubectl delete -f`` does."""
    for name in sorted(MEMBERS):
        fake.actions.delete(Target(paths.PODS, "default", name, ""), {})
    fake.watches.wake()


def add_node(fake: FakeKube) -> None:
    fake.put(paths.NODES, node("b", cpu=str(2 * SIZE)))


@contextlib.asynccontextmanager
async def scheduled(fake: FakeKube, **changes: float) -> AsyncIterator[None]:
    async with (
        extender(fake, gang={**GANG, **changes}, **BELIEVED) as running,
        MiniScheduler(fake, running.scheduler_url).running(),
    ):
        yield


@pytest.mark.parametrize("refusals", [1, SIZE, 3 * SIZE])
async def test_a_gang_whose_deletion_fails_for_a_while_never_has_more_members_than_it_should(
    fake: FakeKube, refusals: int
) -> None:
    """(defect E1)."""
    fake.faults.order(*WRITES["deletion"], *[UNAVAILABLE] * refusals)
    async with witnessed(fake) as history:
        put_broken_gang(fake)
        async with ClusterLife(fake).running(), scheduled(fake):
            await eventually(lambda: fake.faults.left < refusals, PATIENCE_SECONDS)
            add_node(fake)
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            await eventually(lambda: alive(history, JOB) >= SIZE, PATIENCE_SECONDS)
            assert {member(p) for p in history.of(JOB)} == MEMBERS


async def no_pod_is_left_of_a_deleted_gang(fake: FakeKube, held: kube_faults.Slow) -> None:
    """Dissolve the gang until a request is held; its user deletes it then."""
    async with witnessed(fake):
        put_refused_gang(fake)
        async with scheduled(fake):
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            delete_gang(fake)
            held.gate.set()
            async with ClusterLife(fake).running():
                await eventually(lambda: not fake.objects(paths.PODS), PATIENCE_SECONDS)


@pytest.mark.parametrize("write", WRITES)
async def test_no_pod_comes_back_of_a_gang_that_is_deleted_while_it_is_dissolved(
    fake: FakeKube, write: str
) -> None:
    """The user's deletions come just before that write of each pod (defect E2)."""
    held = kube_faults.Slow()
    fake.faults.order(*WRITES[write], *[held] * len(OTHERS))
    await no_pod_is_left_of_a_deleted_gang(fake, held)


REFUSALS = {
    "refused": kube_faults.throttled(),
    "refused by a server that is not well": UNAVAILABLE,
    "without an answer": kube_faults.Disconnect(),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
async def test_no_pod_comes_back_of_a_gang_that_is_deleted_after_our_deletions_failed(
    fake: FakeKube, refusal: kube_faults.Fault
) -> None:
    """Each deletion failed once, and the user's come just before the next attempt."""
    held = kube_faults.Slow()
    fake.faults.order(*WRITES["deletion"], *[refusal] * len(OTHERS), *[held] * len(OTHERS))
    await no_pod_is_left_of_a_deleted_gang(fake, held)


@pytest.mark.parametrize("failure", [kube_faults.CONFLICT, UNAVAILABLE])
async def test_no_pod_comes_back_of_a_gang_that_is_deleted_while_pods_cannot_be_read(
    fake: FakeKube, failure: kube_faults.Fault
) -> None:
    """The user's deletions come just before ours, and the look at the pods after them fails."""
    held = kube_faults.Slow()
    fake.faults.order(*WRITES["deletion"], *[held] * len(OTHERS))
    fake.faults.order("get", "*/pods/j-?", *[failure] * len(OTHERS))
    async with witnessed(fake):
        put_refused_gang(fake)
        async with scheduled(fake):
            await eventually(lambda: fake.faults.left == len(OTHERS), PATIENCE_SECONDS)
            delete_gang(fake)
            held.gate.set()
            async with ClusterLife(fake).running():
                await eventually(lambda: not fake.objects(paths.PODS), PATIENCE_SECONDS)


async def test_a_copy_stays_if_it_is_unknown_whose_deletion_it_was(fake: FakeKube) -> None:
    """Our answer is lost, and the user's deletion comes before our next look: docs/adr/0013."""
    held = kube_faults.Slow()
    fake.faults.order(*WRITES["deletion"], *[kube_faults.Disconnect()] * len(OTHERS))
    fake.faults.order("get", "*/pods/j-?", *[held] * len(OTHERS))
    async with witnessed(fake) as history:
        put_refused_gang(fake)
        async with scheduled(fake):
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            delete_gang(fake)
            held.gate.set()
            async with ClusterLife(fake).running():
                await eventually(lambda: not _names(fake) & MEMBERS, PATIENCE_SECONDS)
                await eventually(lambda: len(history.of(JOB)) == len(OTHERS), PATIENCE_SECONDS)
                assert _copies(fake) == OTHERS
                assert not any(annotation(p, labels.PROVISIONAL) for p in history.of(JOB))


@pytest.mark.parametrize("write", ["copy", "confirmation"])
async def test_no_pod_comes_back_of_a_gang_that_is_deleted_while_the_extender_is_down(
    fake: FakeKube, write: str
) -> None:
    """It is killed before its first deletion: later lives know that none was sent."""
    stop = kube_faults.LostAnswer() if write == "copy" else kube_faults.Disconnect()
    held = kube_faults.Slow()
    fake.faults.order(*WRITES[write], *[stop] * len(OTHERS))
    fake.faults.order(*WRITES["mark"], *[_Undisturbed()] * len(OTHERS), *[held] * SIZE)
    async with witnessed(fake):
        put_refused_gang(fake)
        async with extender(fake, gang=GANG, **BELIEVED) as first:
            await eventually(lambda: _copies(fake) == OTHERS, PATIENCE_SECONDS)
            await first.kill()
        delete_gang(fake)
        held.gate.set()
        async with ClusterLife(fake).running(), scheduled(fake):
            await eventually(lambda: not fake.objects(paths.PODS), PATIENCE_SECONDS)


async def test_a_pod_that_ends_by_itself_is_not_recreated(fake: FakeKube) -> None:
    """It ends between its copy and its deletion."""
    held = kube_faults.Slow()
    fake.faults.order(*WRITES["deletion"], *[held] * len(OTHERS))
    async with witnessed(fake) as history:
        put_refused_gang(fake)
        async with ClusterLife(fake).running(), scheduled(fake):
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            ended = fake.object(paths.PODS, "j-0", "default")
            assert ended is not None
            fake.put(paths.PODS, {**ended, "status": {"phase": "Succeeded"}})
            held.gate.set()
            await eventually(lambda: _names(fake) & OTHERS == {"j-0"}, PATIENCE_SECONDS)
            await eventually(lambda: len(history.of(JOB)) == SIZE, PATIENCE_SECONDS)
            assert Counter(member(p) for p in history.of(JOB)) == Counter(MEMBERS)


async def test_a_pod_stays_a_member_where_the_server_refuses_its_copy(fake: FakeKube) -> None:
    """A quota that is used up, say: the copy would count beside the pod."""
    quota = kube_faults.Answer(403, "Forbidden")
    fake.faults.order(*WRITES["copy"], *[quota] * len(OTHERS))
    async with witnessed(fake) as history:
        put_refused_gang(fake)
        async with scheduled(fake):
            await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
            await eventually(lambda: _was_unmarked(history), PATIENCE_SECONDS)
            assert {p["metadata"]["name"] for p in history.of(JOB)} >= OTHERS
            await eventually(lambda: _copies(fake) == OTHERS, PATIENCE_SECONDS)


STEPS = [(write, k) for write in WRITES for k in (1, SIZE)]


@pytest.mark.parametrize(("write", "k"), STEPS)
@pytest.mark.parametrize("how", ["before", "after"])
async def test_a_gang_is_replaced_whole_wherever_the_extender_is_killed(
    fake: FakeKube, how: str, write: str, k: int
) -> None:
    """Before a write: it comes late or never. After it: it happened, and the answer was lost."""
    held = kube_faults.Slow()
    stop = held if how == "before" else kube_faults.LostAnswer()
    fake.faults.order(*WRITES[write], *[_Undisturbed()] * (k - 1), stop)
    async with witnessed(fake) as history:
        put_broken_gang(fake)
        async with ClusterLife(fake).running():
            async with extender(fake, gang=GANG, **BELIEVED) as first:
                await eventually(lambda: fake.faults.left == 0, PATIENCE_SECONDS)
                await first.kill()
            add_node(fake)
            async with scheduled(fake):
                await eventually(lambda: alive(history, JOB) >= SIZE, PATIENCE_SECONDS)
                held.gate.set()
                await eventually(lambda: len(history.of(JOB)) == SIZE, PATIENCE_SECONDS)
                assert {member(p) for p in history.of(JOB)} == MEMBERS


def _names(fake: FakeKube) -> set[str]:
    return {p["metadata"]["name"] for p in fake.objects(paths.PODS)}


def _was_unmarked(history: History) -> bool:
    """Each of the others was marked once and is unmarked again."""
    marked = {e.uid for e in history.events if annotation(e.pod, labels.REPLACED_BY)}
    now = {u for u, p in history.pods.items() if not annotation(p, labels.REPLACED_BY)}
    return len(marked & now) == len(OTHERS)


class _Undisturbed(kube_faults.Fault):
    """No fault: lets a request pass on the way to the intended one."""


def _copies(fake: FakeKube) -> set[str]:
    pods = fake.objects(paths.PODS)
    return {member(p) for p in pods if is_gated(p)}

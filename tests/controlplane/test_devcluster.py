"""The devcluster itself: up, down, single components, fake nodes, and who may do what."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from devcluster import api, assets, extender_process, processes
from devcluster.cluster import Cluster
from devcluster.errors import ClusterStateError, ComponentError
from devcluster.options import ClusterOptions, KwokNodes, Taint
from shared import labels
from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, ForbiddenError, NotFoundError, UnauthorizedError
from tests.unit.devcluster.programs import write_program

pytestmark = pytest.mark.controlplane

DEADLINE_SECONDS = 60.0


def eventually(check: Callable[[], bool], within_seconds: float = DEADLINE_SECONDS) -> None:
    """Ask until it is true; each question is a round trip, so nothing has to sleep between."""
    deadline = time.monotonic() + within_seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come true"


def get(cluster: Cluster, path: str) -> dict[str, Any]:
    async def body(client: KubeClient) -> bytes:
        return await client.get(path)

    return json.loads(api.call(cluster.kubeconfig, body))


def items(cluster: Cluster, path: str) -> list[dict[str, Any]]:
    return get(cluster, path)["items"]


def create(cluster: Cluster, path: str, manifest: dict[str, Any]) -> None:
    api.call(cluster.kubeconfig, lambda client: client.post(path, manifest))


def exists(cluster: Cluster, path: str) -> bool:
    try:
        get(cluster, path)
    except NotFoundError:
        return False
    return True


def pod(
    name: str, *, node: str | None = None, duration: str | None = None, grace: int = 30
) -> dict:
    annotations = {labels.SIMULATED_DURATION: duration} if duration else {}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "containers": [{"name": "main", "image": "none"}],
            "terminationGracePeriodSeconds": grace,
            **({"nodeName": node} if node else {}),
        },
    }


def phase(cluster: Cluster, name: str) -> str:
    return get(cluster, paths.pod("default", name))["status"]["phase"]


# ---- up and down


def test_a_second_up_finds_the_cluster_running(control_plane: Cluster) -> None:
    before = {name: control_plane.pid(name) for name in control_plane.state().components}
    lines: list[str] = []
    again = Cluster.up(control_plane.directory, ClusterOptions(), lines.append)
    assert {name: again.pid(name) for name in before} == before
    assert lines == [f"the cluster in {control_plane.directory} is already running"]


def test_a_second_up_starts_again_what_has_ended(clean_cluster: Cluster) -> None:
    create(clean_cluster, paths.NAMESPACES, {"metadata": {"name": "kept"}})
    clean_cluster.kill("kube-apiserver")
    clean_cluster.kill("etcd")
    lines: list[str] = []
    Cluster.up(clean_cluster.directory, ClusterOptions(), lines.append)
    assert lines[0] == "starting again: etcd, kube-apiserver"
    assert exists(clean_cluster, paths.namespace("kept"))


def test_clusters_run_side_by_side_and_down_ends_one_of_them(
    control_plane: Cluster, tmp_path: Path
) -> None:
    other = Cluster.up(tmp_path, ClusterOptions(), lambda _: None)
    try:
        assert other.server != control_plane.server
        create(other, paths.NAMESPACES, {"metadata": {"name": "only-here"}})
        assert not exists(control_plane, paths.namespace("only-here"))
        foreign = control_plane.kubeconfig.read_text().replace(control_plane.server, other.server)
        (tmp_path / "foreign").write_text(foreign)
        with pytest.raises((ApiError, OSError)):
            api.call(tmp_path / "foreign", lambda client: client.get(paths.NODES))
    finally:
        other.down()
    assert list(processes.leftovers(str(tmp_path))) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "foreign",
        "logs",
        "state.lock",
        "up.lock",
    ]
    assert get(control_plane, "/version")["gitVersion"] == "v1.36.3"


def test_down_ends_what_a_killed_up_left_behind(tmp_path: Path) -> None:
    up = subprocess.Popen([sys.executable, "-m", "devcluster", "up", "--dir", tmp_path])
    eventually((tmp_path / "logs" / "kube-apiserver.log").exists)
    up.kill()
    up.wait()
    left = list(processes.leftovers(str(tmp_path)))
    assert len(left) >= 2
    Cluster(tmp_path, lambda _: None).down()
    assert all(processes.gone(process) for process in left)
    assert list(processes.leftovers(str(tmp_path))) == []


SIGNALS = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM}


@pytest.mark.parametrize("number", SIGNALS.values(), ids=SIGNALS)
def test_an_up_that_is_interrupted_takes_everything_down(tmp_path: Path, number: int) -> None:
    # a shell starts what runs behind it with SIGINT ignored, and children would inherit that
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    up = subprocess.Popen([sys.executable, "-m", "devcluster", "up", "--dir", tmp_path])
    signal.signal(signal.SIGINT, before)
    eventually((tmp_path / "logs" / "kube-apiserver.log").exists)
    up.send_signal(number)
    assert up.wait(DEADLINE_SECONDS) == 128 + number
    assert list(processes.leftovers(str(tmp_path))) == []
    assert not (tmp_path / "state.json").exists()


def test_down_ends_what_runs_when_nothing_is_written_down_about_it(tmp_path: Path) -> None:
    environ = dict(os.environ) | {processes.MARK: str(tmp_path)}
    processes.spawn(("/bin/sleep", "600"), environ, tmp_path / "logs" / "etcd.log")
    Cluster(tmp_path, lambda _: None).down()
    assert list(processes.leftovers(str(tmp_path))) == []


def test_down_leaves_a_process_alone_that_got_the_pid_of_ours(
    tmp_path: Path, control_plane: Cluster
) -> None:
    stranger = subprocess.Popen(["/bin/sleep", "600"])
    try:
        state = control_plane.state()
        identity = state.components["etcd"].identity
        assert identity is not None
        started = psutil.Process(stranger.pid).create_time()
        text = control_plane._supervisor.file.path.read_text()
        changed = json.loads(text)
        changed["components"]["etcd"]["identity"] = {"pid": stranger.pid, "started": started}
        (tmp_path / "state.json").write_text(json.dumps(changed))
        Cluster(tmp_path, lambda _: None).down()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_an_up_that_fails_half_way_names_the_component_and_takes_everything_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = frozenset({"etcd", "kube-controller-manager"})
    programs = tmp_path / "assets"
    programs.mkdir()
    for name, file in assets.ensure(names, report=lambda _: None).items():
        (programs / name).symlink_to(file)
    broken = 'echo "unknown flag: --frobnicate" >&2; exit 3'
    write_program(programs / "kube-apiserver", "Kubernetes v1.36.3", broken)
    monkeypatch.setenv("SHUNTYARD_ASSETS", str(programs))
    directory = tmp_path / "cluster"
    with pytest.raises(ComponentError) as raised:
        Cluster.up(directory, ClusterOptions(), lambda _: None)
    message = str(raised.value)
    assert message.startswith("kube-apiserver ended before it was ready")
    assert message.endswith("unknown flag: --frobnicate")
    assert list(processes.leftovers(str(directory))) == []
    assert not (directory / "state.json").exists()


# ---- single components


def test_a_killed_component_is_gone_and_can_be_started_again(clean_cluster: Cluster) -> None:
    create(clean_cluster, paths.NAMESPACES, {"metadata": {"name": "kept"}})
    pid = clean_cluster.pid("kube-apiserver")
    clean_cluster.kill("kube-apiserver", signal.SIGKILL)
    assert not clean_cluster.runs("kube-apiserver")
    with pytest.raises(ClusterStateError, match="kube-apiserver does not run"):
        clean_cluster.pid("kube-apiserver")
    clean_cluster.start("kube-apiserver")
    assert clean_cluster.pid("kube-apiserver") != pid
    assert exists(clean_cluster, paths.namespace("kept"))


def test_an_unknown_component_is_an_error_that_lists_the_known_ones(control_plane: Cluster) -> None:
    with pytest.raises(ClusterStateError, match=r"no component 'kubelet'; it has etcd, kube-ap"):
        control_plane.stop("kubelet")


def test_starting_what_runs_is_an_error(control_plane: Cluster) -> None:
    with pytest.raises(ClusterStateError, match="etcd already runs"):
        control_plane.start("etcd")


def test_status_says_what_runs(control_plane: Cluster) -> None:
    command = [sys.executable, "-m", "devcluster", "status", "-o", "json"]
    done = subprocess.run(
        [*command, "--dir", control_plane.directory], capture_output=True, check=True
    )
    status = json.loads(done.stdout)
    assert status["server"] == control_plane.server
    pids = {name: component["pid"] for name, component in status["components"].items()}
    assert pids["etcd"] == control_plane.pid("etcd")


# ---- who may do what


def test_a_user_without_a_role_may_nothing(control_plane: Cluster) -> None:
    kubeconfig = control_plane.kubeconfig_for("nobody-in-particular")
    with pytest.raises(ForbiddenError):
        api.call(kubeconfig, lambda client: client.get(paths.NODES))


def test_a_user_in_an_administrators_group_may_everything(control_plane: Cluster) -> None:
    kubeconfig = control_plane.kubeconfig_for("somebody", ["system:masters"])
    assert api.call(kubeconfig, lambda client: api.items(client, paths.NAMESPACES))


def test_who_has_no_certificate_is_not_let_in(control_plane: Cluster, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("guessed")
    layout = control_plane.layout
    kubeconfig = extender_process.kubeconfigs.write_for_token(
        tmp_path / "kubeconfig", control_plane.server, layout.authority, "guess", token
    )
    with pytest.raises(UnauthorizedError):
        api.call(kubeconfig, lambda client: client.get(paths.NODES))


@pytest.fixture(scope="module")
def extender_kubeconfig(control_plane: Cluster) -> Iterator[Path]:
    return extender_process.write_kubeconfig(control_plane.layout, control_plane.server)


REVIEWS = {
    "list pods": ("list", "", "pods", "", True),
    "bind pods": ("create", "", "pods", "binding", True),
    "create pods": ("create", "", "pods", "", True),
    "update pods": ("update", "", "pods", "", False),
    "patch pod status": ("patch", "", "pods", "status", True),
    "watch nodes": ("watch", "", "nodes", "", True),
    "patch nodes": ("patch", "", "nodes", "", False),
    "read quotas": ("list", "", "resourcequotas", "", True),
    "read jobs": ("list", "batch", "jobs", "", True),
    "delete jobs": ("delete", "batch", "jobs", "", False),
    "read stateful sets": ("watch", "apps", "statefulsets", "", True),
    "read priority classes": ("list", "scheduling.k8s.io", "priorityclasses", "", True),
    "read any lease": ("get", "coordination.k8s.io", "leases", "", False),
    "take leases": ("update", "coordination.k8s.io", "leases", "", False),
    "write events": ("create", "events.k8s.io", "events", "", True),
    "read secrets": ("list", "", "secrets", "", False),
    "evict": ("create", "", "pods", "eviction", True),
    "suspend jobs": ("patch", "batch", "jobs", "", True),
    "resize pods": ("patch", "", "pods", "resize", True),
    "review tokens": ("create", "authentication.k8s.io", "tokenreviews", "", True),
    "make migrations": ("create", "shuntyard.io", "migrations", "", True),
}


@pytest.mark.parametrize(
    ("verb", "group", "resource", "subresource", "allowed"), REVIEWS.values(), ids=REVIEWS
)
def test_the_extender_may_do_what_it_does_and_nothing_else(
    extender_kubeconfig: Path,
    verb: str,
    group: str,
    resource: str,
    subresource: str,
    allowed: bool,
) -> None:
    attributes = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "namespace": "kube-system",
    }
    review = {"spec": {"resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = api.call(extender_kubeconfig, lambda client: client.post(path, review))
    assert json.loads(answer)["status"]["allowed"] is allowed


# ---- fake nodes


@pytest.fixture
def kwok_cluster(clean_cluster: Cluster) -> Cluster:
    clean_cluster.add_kwok_nodes(KwokNodes(count=3))
    return clean_cluster


def test_fake_nodes_are_ready_and_as_ordered(clean_cluster: Cluster) -> None:
    clean_cluster.add_kwok_nodes(
        KwokNodes(
            count=2,
            cpu="4",
            extended={"nvidia.com/gpu": "2"},
            labels={"zone": "a"},
            taints=(Taint("gpu", "yes", "NoSchedule"),),
        )
    )
    clean_cluster.add_kwok_nodes(KwokNodes(count=1, first=2))
    nodes = {node["metadata"]["name"]: node for node in items(clean_cluster, paths.NODES)}
    assert sorted(nodes) == ["kwok-0000", "kwok-0001", "kwok-0002"]
    first = nodes["kwok-0000"]
    assert first["status"]["allocatable"]["nvidia.com/gpu"] == "2"
    assert first["metadata"]["labels"]["zone"] == "a"
    assert [taint["key"] for taint in first["spec"]["taints"]] == ["gpu"]
    assert "taints" not in nodes["kwok-0002"]["spec"]


def test_the_default_scheduler_binds_pods_and_they_run(kwok_cluster: Cluster) -> None:
    kwok_cluster.start_default_scheduler()
    create(kwok_cluster, paths.pods("default"), pod("one"))
    eventually(lambda: phase(kwok_cluster, "one") == "Running")
    assert get(kwok_cluster, paths.pod("default", "one"))["status"]["podIP"].startswith("10.")


def test_a_pod_succeeds_after_its_simulated_duration_and_not_before(kwok_cluster: Cluster) -> None:
    begun = time.monotonic()
    create(kwok_cluster, paths.pods("default"), pod("two", node="kwok-0000", duration="2s"))
    eventually(lambda: phase(kwok_cluster, "two") == "Succeeded")
    assert time.monotonic() - begun >= 2.0
    (container,) = get(kwok_cluster, paths.pod("default", "two"))["status"]["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 0


def test_a_change_of_a_running_pod_does_not_start_its_time_again(kwok_cluster: Cluster) -> None:
    create(kwok_cluster, paths.pods("default"), pod("three", node="kwok-0000", duration="3s"))
    eventually(lambda: phase(kwok_cluster, "three") == "Running")
    changes = 0

    def changed() -> bool:
        nonlocal changes
        changes += 1
        patch = {"metadata": {"annotations": {"change": str(changes)}}}
        path = paths.pod("default", "three")
        api.call(kwok_cluster.kubeconfig, lambda client: client.patch(path, patch))
        return phase(kwok_cluster, "three") == "Succeeded"

    eventually(changed)  # it would run for ever: there is a change in each of its seconds
    assert changes > 5


def test_a_job_of_pods_without_a_duration_completes(kwok_cluster: Cluster) -> None:
    kwok_cluster.start_default_scheduler()
    template = {"spec": {**pod("any")["spec"], "restartPolicy": "Never"}}
    spec = {"parallelism": 3, "completions": 3, "template": template}
    path = paths.namespaced(paths.JOBS, "default")
    create(kwok_cluster, path, {"metadata": {"name": "job"}, "spec": spec})
    eventually(lambda: get(kwok_cluster, f"{path}/job")["status"].get("succeeded") == 3)


def test_a_running_pod_uses_up_its_grace_and_one_that_has_finished_goes_at_once(
    kwok_cluster: Cluster,
) -> None:
    create(kwok_cluster, paths.pods("default"), pod("slow", node="kwok-0000", grace=3))
    create(kwok_cluster, paths.pods("default"), pod("done", node="kwok-0001", duration="0s"))
    eventually(lambda: phase(kwok_cluster, "slow") == "Running")
    eventually(lambda: phase(kwok_cluster, "done") == "Succeeded")
    begun = time.monotonic()
    for name in ("slow", "done"):
        path = paths.pod("default", name)
        api.call(kwok_cluster.kubeconfig, lambda client, path=path: client.delete(path))
    eventually(lambda: not exists(kwok_cluster, paths.pod("default", "done")))
    assert exists(kwok_cluster, paths.pod("default", "slow"))
    eventually(lambda: not exists(kwok_cluster, paths.pod("default", "slow")))
    # The API's deletion time is in whole seconds: up to one less.
    assert time.monotonic() - begun >= 2.0


def test_kwok_leaves_nodes_alone_that_are_not_its_own(kwok_cluster: Cluster) -> None:
    create(kwok_cluster, paths.NODES, {"metadata": {"name": "somebody-elses"}})
    create(kwok_cluster, paths.pods("default"), pod("theirs", node="somebody-elses"))
    create(kwok_cluster, paths.pods("default"), pod("ours", node="kwok-0000"))
    eventually(lambda: phase(kwok_cluster, "ours") == "Running")
    assert phase(kwok_cluster, "theirs") == "Pending"
    assert not exists(kwok_cluster, paths.lease("kube-node-lease", "somebody-elses"))


@pytest.mark.parametrize("turn", ["first", "second"])
def test_emptying_leaves_nothing_and_the_same_names_can_be_used_again(
    kwok_cluster: Cluster, turn: str
) -> None:
    kwok_cluster.start_default_scheduler()
    create(kwok_cluster, paths.NAMESPACES, {"metadata": {"name": "team"}})
    account = paths.namespaced("/api/v1/serviceaccounts", "team", "default")
    eventually(lambda: exists(kwok_cluster, account))
    template = {"spec": {**pod("any")["spec"], "restartPolicy": "Never"}}
    path = paths.namespaced(paths.JOBS, "team")
    spec = {"parallelism": 5, "completions": 5, "template": template}
    create(kwok_cluster, path, {"metadata": {"name": turn}, "spec": spec})
    eventually(lambda: len(items(kwok_cluster, paths.pods("team"))) == 5)
    kwok_cluster.empty()
    assert items(kwok_cluster, paths.PODS) == []
    assert items(kwok_cluster, paths.NODES) == []
    assert not exists(kwok_cluster, paths.namespace("team"))
    assert not kwok_cluster.runs("kwok")
    assert not kwok_cluster.runs("default-scheduler")

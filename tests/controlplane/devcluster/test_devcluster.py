"""The devcluster itself: up, down, single components, and the rights of its users."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from devcluster import api
from devcluster.cluster import Cluster
from devcluster.errors import ClusterStateError, ComponentError
from devcluster.local import processes
from devcluster.options import ClusterOptions
from devcluster.programs import assets
from devcluster.shuntyard import extender_process
from shared.kube import paths
from shared.kube.errors import ApiError, ForbiddenError, UnauthorizedError
from tests.controlplane.devcluster.devcluster_yard import (
    DEADLINE_SECONDS,
    create,
    eventually,
    exists,
    get,
)
from tests.unit.devcluster.programs import write_program

pytestmark = [pytest.mark.controlplane, pytest.mark.devcluster]

ETCD_AND_API_SERVER = 2


def test_a_second_up_finds_the_cluster_running(control_plane: Cluster) -> None:
    before = {name: control_plane.pid(name) for name in control_plane.state().components}
    lines: list[str] = []
    again = Cluster.up(control_plane.directory, ClusterOptions(), lines.append)
    assert {name: again.pid(name) for name in before} == before
    assert lines == [f"the cluster in {control_plane.directory} is already running"]


def test_a_second_up_restarts_components_that_have_ended(clean_cluster: Cluster) -> None:
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
    # not the log's existence: it is opened before the child runs the program and carries the mark
    eventually(lambda: len(list(processes.leftovers(str(tmp_path)))) >= ETCD_AND_API_SERVER)
    up.kill()
    up.wait()
    left = list(processes.leftovers(str(tmp_path)))
    Cluster(tmp_path, lambda _: None).down()
    assert all(processes.gone(process) for process in left)
    assert list(processes.leftovers(str(tmp_path))) == []


SIGNALS = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM}


@pytest.mark.parametrize("number", SIGNALS.values(), ids=SIGNALS)
def test_an_interrupted_up_takes_everything_down(tmp_path: Path, number: int) -> None:
    # a shell starts what runs behind it with SIGINT ignored, and children would inherit that
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    up = subprocess.Popen([sys.executable, "-m", "devcluster", "up", "--dir", tmp_path])
    signal.signal(signal.SIGINT, before)
    eventually((tmp_path / "logs" / "kube-apiserver.log").exists)
    up.send_signal(number)
    assert up.wait(DEADLINE_SECONDS) == 128 + number
    assert list(processes.leftovers(str(tmp_path))) == []
    assert not (tmp_path / "state.json").exists()


def test_down_ends_processes_without_a_record(tmp_path: Path) -> None:
    environ = dict(os.environ) | {processes.MARK: str(tmp_path)}
    processes.spawn(("/bin/sleep", "600"), environ, tmp_path / "logs" / "etcd.log")
    Cluster(tmp_path, lambda _: None).down()
    assert list(processes.leftovers(str(tmp_path))) == []


def test_down_leaves_a_foreign_process_with_a_recycled_pid_alone(
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


def test_an_error_for_an_unknown_component_lists_all_components(control_plane: Cluster) -> None:
    with pytest.raises(ClusterStateError, match=r"no component 'kubelet'; it has etcd, kube-ap"):
        control_plane.stop("kubelet")


def test_starting_a_running_component_is_an_error(control_plane: Cluster) -> None:
    with pytest.raises(ClusterStateError, match="etcd already runs"):
        control_plane.start("etcd")


def test_status_lists_running_components(control_plane: Cluster) -> None:
    command = [sys.executable, "-m", "devcluster", "status", "-o", "json"]
    done = subprocess.run(
        [*command, "--dir", control_plane.directory], capture_output=True, check=True
    )
    status = json.loads(done.stdout)
    assert status["server"] == control_plane.server
    pids = {name: component["pid"] for name, component in status["components"].items()}
    assert pids["etcd"] == control_plane.pid("etcd")


# ---- rights


def test_a_user_without_a_role_may_do_nothing(control_plane: Cluster) -> None:
    kubeconfig = control_plane.kubeconfig_for("no-role")
    with pytest.raises(ForbiddenError):
        api.call(kubeconfig, lambda client: client.get(paths.NODES))


def test_a_user_in_the_administrators_group_may_do_everything(control_plane: Cluster) -> None:
    kubeconfig = control_plane.kubeconfig_for("administrator", ["system:masters"])
    assert api.call(kubeconfig, lambda client: api.items(client, paths.NAMESPACES))


def test_a_caller_without_a_certificate_is_refused(control_plane: Cluster, tmp_path: Path) -> None:
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
def test_the_extender_has_the_rights_it_uses_and_no_others(
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

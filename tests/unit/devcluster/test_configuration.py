"""Settings of the components compared: our manifests, settings files and command lines."""

from pathlib import Path

import pytest
import yaml

from devcluster.components import control_plane, kwok, schedulers
from devcluster.components.schedulers import Peer
from devcluster.credentials.bootstrap import deploy_manifests
from devcluster.local.layout import Layout
from devcluster.local.state import Component
from devcluster.options import ClusterOptions
from devcluster.programs.differences import differences
from devcluster.programs.versions import DEFAULT_KUBERNETES
from devcluster.shuntyard.extender_process import extender, merged
from extender.settings.extender import ExtenderSettings
from extender.settings.policy import PolicySettings
from shared import labels
from shared.errors import InputError
from shared.settings import load


def scheduler_config() -> dict:
    (config,) = deploy_manifests("base/scheduler.yaml")
    return config


def test_kube_scheduler_calls_the_extender_where_it_listens_by_default() -> None:
    port = ExtenderSettings().scheduler.listen_port
    urls = {entry["urlPrefix"] for entry in scheduler_config()["extenders"]}
    assert urls == {f"http://127.0.0.1:{port}"}


def test_the_extender_watches_kube_schedulers_lease() -> None:
    election, lease = scheduler_config()["leaderElection"], ExtenderSettings().lease
    assert (election["resourceNamespace"], election["resourceName"]) == (
        lease.namespace,
        lease.name,
    )


def test_a_bind_call_may_take_longer_than_the_extender_waits_and_filter_may_not() -> None:
    first, second = scheduler_config()["extenders"]
    assert "filterVerb" in first
    assert "bindVerb" not in first
    assert "bindVerb" in second
    seconds = float(second["httpTimeout"].removesuffix("s"))
    assert float(first["httpTimeout"].removesuffix("s")) <= 5
    assert seconds > PolicySettings().gang.bind_wait_seconds


def test_the_profile_is_ours_and_never_preempts() -> None:
    (profile,) = scheduler_config()["profiles"]
    assert profile["schedulerName"] == labels.SCHEDULER_NAME
    assert profile["plugins"]["multiPoint"]["disabled"] == [{"name": "DefaultPreemption"}]


def test_the_extender_accepts_its_settings_file(tmp_path: Path) -> None:
    component = extender(
        Layout(tmp_path),
        tmp_path / "kubeconfig",
        scheduler_port=1111,
        api_port=2222,
        agents=("127.0.0.1", 4444),
        settings={"queue": {"order": "creation"}, "api": {"listen_port": 3333}},
    )
    settings = load(ExtenderSettings, Path(component.argv[-1]), {})
    assert settings.scheduler.listen_port == 1111
    assert settings.api.listen_port == 3333
    assert settings.agents.listen_port == 4444
    assert settings.agents.key == Layout(tmp_path).server.key
    assert settings.queue.order == "creation"
    assert settings.kubernetes.kubeconfig == tmp_path / "kubeconfig"


def test_settings_are_merged_group_by_group() -> None:
    base = {"a": {"x": 1, "y": {"z": 1}}, "b": 1}
    assert merged(base, {"a": {"y": {"w": 2}}, "c": 3}) == {
        "a": {"x": 1, "y": {"z": 1, "w": 2}},
        "b": 1,
        "c": 3,
    }


def test_our_kube_scheduler_gets_our_configuration_with_this_clusters_addresses(
    tmp_path: Path,
) -> None:
    component = schedulers.ours(Path("/bin/kube-scheduler"), Layout(tmp_path), 1111, 2222)
    config = yaml.safe_load((tmp_path / "config" / "kube-scheduler.yaml").read_text())
    assert f"--config={tmp_path / 'config' / 'kube-scheduler.yaml'}" in component.argv
    assert {entry["urlPrefix"] for entry in config["extenders"]} == {"http://127.0.0.1:2222"}
    assert Path(config["clientConnection"]["kubeconfig"]).is_relative_to(tmp_path)
    expected = scheduler_config()
    del config["clientConnection"]["kubeconfig"]
    for entry in (config, expected):
        for item in entry["extenders"]:
            del item["urlPrefix"]
    assert config == expected


def test_every_server_listens_on_loopback_with_our_certificate(tmp_path: Path) -> None:
    layout, program = Layout(tmp_path), Path("/bin/program")
    components = (
        control_plane.etcd(program, layout, 1, 2),
        control_plane.kube_apiserver(program, layout, 3, 1),
        control_plane.kube_controller_manager(program, layout, 4, node_grace_seconds=50),
        kwok.component(program, layout, 5, node_grace_seconds=50),
        schedulers.plain(program, layout, 6),
        schedulers.ours(program, layout, 7, 8),
        Peer.IN_TREE.component(program, layout, 9, DEFAULT_KUBERNETES),
        schedulers.coscheduling(program, layout, 10),
    )
    for component in components:
        assert component.probe is not None
        assert component.probe.url.startswith("https://127.0.0.1:")
        assert any(flag.endswith(str(layout.server.certificate)) for flag in component.argv)
        assert not any("insecure" in flag or "skip" in flag for flag in component.argv)


OWN_GANGS = {
    "1.36.3": ("GenericWorkload=true,GangScheduling=true", "v1alpha2"),
    "1.37.2": ("GenericWorkload=true", "v1beta1"),
}


@pytest.mark.parametrize(("kubernetes", "gates", "api"), [(v, *of) for v, of in OWN_GANGS.items()])
def test_kubernetes_own_gangs_are_served_and_scheduled_only_on_demand(
    tmp_path: Path, kubernetes: str, gates: str, api: str
) -> None:
    layout, program = Layout(tmp_path), Path("/bin/program")
    flag = f"--feature-gates={gates}"
    server = api_server(layout, ClusterOptions(kubernetes, in_tree_gangs=True))
    assert {flag, f"--runtime-config=scheduling.k8s.io/{api}=true"} <= set(server.argv)
    assert flag in Peer.IN_TREE.component(program, layout, 4, kubernetes).argv
    assert Peer.IN_TREE.groups(kubernetes) == f"/apis/scheduling.k8s.io/{api}/podgroups"
    without = (api_server(layout, ClusterOptions(kubernetes)), schedulers.plain(program, layout, 5))
    for component in without:
        assert not any("feature-gates" in flag for flag in component.argv)


def api_server(layout: Layout, options: ClusterOptions) -> Component:
    programs = dict.fromkeys(control_plane.NAMES, Path("/bin/program"))
    return control_plane.plan(programs, layout, options).components["kube-apiserver"]


@pytest.mark.parametrize("kubernetes", ["1.34.4", "1.35.4"])
def test_a_version_without_pod_groups_has_no_gang_scheduler_of_its_own(
    tmp_path: Path, kubernetes: str
) -> None:
    expected = r"in-tree gangs.*at least 1\.36"
    with pytest.raises(InputError, match=expected):
        Peer.IN_TREE.component(Path("/bin/program"), Layout(tmp_path), 1, kubernetes)
    with pytest.raises(InputError, match=expected):
        Peer.IN_TREE.groups(kubernetes)


POLICY_FLAGS = {
    "1.34.4": ["MutatingAdmissionPolicy=true", "admissionregistration.k8s.io/v1beta1=true"],
    "1.35.4": [
        "GenericWorkload=true,GangScheduling=true,MutatingAdmissionPolicy=true",
        "scheduling.k8s.io/v1alpha1=true,admissionregistration.k8s.io/v1beta1=true",
    ],
    "1.36.3": ["GenericWorkload=true,GangScheduling=true", "scheduling.k8s.io/v1alpha2=true"],
    "1.37.2": ["GenericWorkload=true", "scheduling.k8s.io/v1beta1=true"],
}


@pytest.mark.parametrize(("kubernetes", "values"), POLICY_FLAGS.items())
def test_features_share_one_flag_and_no_features_have_none(
    tmp_path: Path, kubernetes: str, values: list[str]
) -> None:
    gangs = differences(kubernetes).gangs is not None
    options = ClusterOptions(kubernetes, in_tree_gangs=gangs, mutating_policies=True)
    found = api_server(Layout(tmp_path), options).argv
    names = ("--feature-gates=", "--runtime-config=")
    assert [flag.partition("=")[2] for flag in found if flag.startswith(names)] == values


def test_a_version_without_gangs_of_its_own_cannot_serve_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"in_tree_gangs.*at least 1\.35"):
        api_server(Layout(tmp_path), ClusterOptions("1.34.4", in_tree_gangs=True))


def test_the_eviction_request_api_is_switched_on_where_a_version_has_it(tmp_path: Path) -> None:
    found = api_server(Layout(tmp_path), ClusterOptions("1.37.2", eviction_requests=True)).argv
    assert "--feature-gates=EvictionRequestAPI=true" in found
    assert "--runtime-config=lifecycle.k8s.io/v1alpha1=true" in found
    with pytest.raises(InputError, match=r"eviction_requests.*at least 1\.37"):
        api_server(Layout(tmp_path), ClusterOptions("1.36.3", eviction_requests=True))


def test_device_taint_rules_are_switched_on_where_a_version_has_them_off(tmp_path: Path) -> None:
    found = api_server(Layout(tmp_path), ClusterOptions("1.36.3", device_taint_rules=True)).argv
    assert "--feature-gates=DRADeviceTaintRules=true" in found
    assert "--runtime-config=resource.k8s.io/v1beta2=true" in found
    newest = api_server(Layout(tmp_path), ClusterOptions("1.37.2", device_taint_rules=True)).argv
    assert not any("feature-gates" in flag for flag in newest)
    with pytest.raises(InputError, match=r"device_taint_rules.*at least 1\.36"):
        api_server(Layout(tmp_path), ClusterOptions("1.35.4", device_taint_rules=True))


def test_calls_are_recorded_only_on_demand_and_of_our_programs_alone(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    without = api_server(layout, ClusterOptions())
    assert not any("audit" in flag for flag in without.argv)
    recording = api_server(layout, ClusterOptions(record_api_calls=True))
    assert f"--audit-log-path={layout.audit / 'calls.log'}" in recording.argv
    *ours, rest = yaml.safe_load((layout.audit / "policy.yaml").read_text())["rules"]
    assert rest == {"level": "None"}
    assert all(one["level"] == "Metadata" for one in ours)


def test_coscheduling_orders_the_queue_alone(tmp_path: Path) -> None:
    schedulers.coscheduling(Path("/bin/coscheduling"), Layout(tmp_path), 1)
    config = yaml.safe_load((tmp_path / "config" / "coscheduling.yaml").read_text())
    (profile,) = config["profiles"]
    assert profile["plugins"]["queueSort"]["disabled"] == [{"name": "*"}]
    assert profile["plugins"]["queueSort"]["enabled"] == [{"name": "Coscheduling"}]

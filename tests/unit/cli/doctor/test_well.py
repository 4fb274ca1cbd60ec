"""The installation of deploy/base is healthy, and so are its variants."""

from cli.doctor import running
from cli.doctor.findings import Level
from cli.doctor.site import SECRETS
from shared.kube import paths
from shared.progress import GpuHealth
from tests.unit.cli.doctor import healthy
from tests.unit.cli.doctor.breaking import configured, more, nodes
from tests.unit.cli.doctor.healthy import FakeCluster, findings

OK, WARNING, FAULT, UNKNOWN = Level


def test_deploy_base_is_healthy(well: FakeCluster) -> None:
    found = findings(well)
    assert [one for one in found if one.level is not OK] == []
    assert {one.check for one in found} == set(running.CHECKS)


def test_gpus_without_faults_are_healthy(well: FakeCluster) -> None:
    nodes("node-a", "node-b", gpus=GpuHealth(devices=8, uncorrected_errors=0))(well)
    found = findings(well)
    assert [one for one in found if one.level is not OK] == []
    assert "the agents of 2 nodes read GPUs, which have no faults" in [one.message for one in found]


def test_another_plugin_is_no_matter_without_bursts(well: FakeCluster) -> None:
    plugins = {"permit": {"enabled": [{"name": "Licences"}]}}
    configured(lambda one: one["profiles"][0]["plugins"].update(plugins))(well)
    more(gang={"burst_hold_seconds": 0})(well)
    assert [one for one in findings(well) if one.level is not OK] == []


def test_certificates_from_cert_manager_are_healthy(well: FakeCluster) -> None:
    """As in deploy/components/cert-manager: its Secret, and our ConfigMap."""
    volume = {"name": "certificates", "secret": {"secretName": "shuntyard-tls"}}
    spec = well.objects[healthy.DEPLOYMENT]["spec"]["template"]["spec"]
    spec["volumes"] = [*(one for one in spec["volumes"] if one["name"] != volume["name"]), volume]
    place = "/run/shuntyard/certificates/ca.crt"
    (container,) = [one for one in spec["containers"] if one["name"] == "extender"]
    container["env"] = [
        {"name": "SHUNTYARD__CERTIFICATES__MANAGED", "value": "false"},
        {"name": "SHUNTYARD__CERTIFICATES__AUTHORITY", "value": place},
    ]
    secret = well.objects.pop(healthy.SECRET)
    well.objects[healthy.SECRET.replace("shuntyard-certificates", "shuntyard-tls")] = secret
    well.lacking |= {"get secrets shuntyard-certificates", "patch secrets shuntyard-certificates"}
    assert [one for one in findings(well) if one.level is not OK] == []
    well.lacking |= {"patch configmaps"}
    assert [one for one in findings(well) if "shuntyard-ca" in one.message and one.level is not OK]


def test_certificates_mounted_on_both_sides_are_healthy(well: FakeCluster) -> None:
    """Two Secrets of another issuer in both namespaces; none of ours, and no rights for it."""
    certificates = {"name": "certificates", "secret": {"secretName": "shuntyard-tls"}}
    authority = {"name": "authority", "secret": {"secretName": "shuntyard-agent-tls"}}
    for path, volume in ((healthy.DEPLOYMENT, certificates), (healthy.DAEMON_SET, authority)):
        spec = well.objects[path]["spec"]["template"]["spec"]
        kept = [one for one in spec["volumes"] if one["name"] != volume["name"]]
        assert len(kept) == len(spec["volumes"]) - 1
        spec["volumes"] = [*kept, volume]
        for one in spec["containers"]:
            if one["name"] == "extender":
                one["env"] = [{"name": "SHUNTYARD__CERTIFICATES__MANAGED", "value": "false"}]
    secret = well.objects.pop(healthy.SECRET)
    del well.objects[healthy.AUTHORITY]
    well.lacking |= {"get secrets shuntyard-certificates", "patch secrets shuntyard-certificates"}
    well.objects[healthy.SECRET.replace("shuntyard-certificates", "shuntyard-tls")] = secret
    agents = paths.namespaced(SECRETS, healthy.AGENTS, "shuntyard-agent-tls")
    well.objects[agents] = {"data": {"ca.crt": secret["data"]["ca.crt"]}}
    assert [one for one in findings(well) if one.level is not OK] == []
    well.objects[agents] = {"data": {}}
    (finding,) = [one for one in findings(well) if one.level is not OK]
    assert finding.message.startswith(
        "the Secret shuntyard-agents/shuntyard-agent-tls has no ca.crt"
    )


def test_without_a_deployment_nothing_is_concluded_about_the_leader(well: FakeCluster) -> None:
    """As on a devcluster, whose extender is a process: the Lease is held by no pod of ours."""
    del well.objects[healthy.DEPLOYMENT]
    well.objects[healthy.LEASE]["spec"]["holderIdentity"] = "machine_0f"
    levels = {one.level for one in findings(well) if one.check == "lease"}
    assert levels == {OK, UNKNOWN}

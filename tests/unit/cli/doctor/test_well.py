"""An installation as deploy/base makes it is well, and so are its variants."""

from cli.doctor import running
from cli.doctor.certificates import SECRETS
from cli.doctor.findings import Level
from shared.kube import paths
from tests.unit.cli.doctor import healthy
from tests.unit.cli.doctor.healthy import FakeCluster, found

OK, WARNING, FAULT, UNKNOWN = Level


def test_what_deploy_base_makes_is_well(well: FakeCluster) -> None:
    findings = found(well)
    assert [one for one in findings if one.level is not OK] == []
    assert {one.check for one in findings} == set(running.CHECKS)


def test_certificates_from_cert_manager_are_well_too(well: FakeCluster) -> None:
    """As deploy/components/cert-manager has it: a Secret of theirs, and our ConfigMap as before."""
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
    assert [one for one in found(well) if one.level is not OK] == []
    well.lacking |= {"patch configmaps"}
    assert [one for one in found(well) if "shuntyard-ca" in one.said and one.level is not OK]


def test_certificates_that_are_mounted_on_both_sides_are_well_too(well: FakeCluster) -> None:
    """No Secret and no rights of ours, two of somebody's who issues in both namespaces."""
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
    assert [one for one in found(well) if one.level is not OK] == []
    well.objects[agents] = {"data": {}}
    (said,) = [one for one in found(well) if one.level is not OK]
    assert said.said.startswith("the Secret shuntyard-agents/shuntyard-agent-tls has no ca.crt")

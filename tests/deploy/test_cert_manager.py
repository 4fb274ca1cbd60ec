"""No namespace but ours can get a certificate that our checks accept."""

import pytest
import yaml

from extender.settings.extender import ExtenderSettings
from tests.deploy.rendering import DEPLOY, SETUPS, Setup, named, needs_kubectl, of_kind

pytestmark = needs_kubectl

NAMESPACE = "shuntyard-system"
WITH_IT = ["with cert-manager", "attached with cert-manager"]
with_it = pytest.mark.parametrize("setup", [SETUPS[name] for name in WITH_IT], ids=WITH_IT)


@with_it
def test_every_issuer_and_certificate_is_in_our_namespace_alone(setup: Setup) -> None:
    assert not list(of_kind(setup, "ClusterIssuer"))
    kinds = of_kind(setup, "Issuer", "Certificate")
    assert {one["metadata"]["namespace"] for one in kinds} == {NAMESPACE}
    issuers = {one["metadata"]["name"] for one in of_kind(setup, "Issuer")}
    for one in of_kind(setup, "Certificate"):
        issuer = one["spec"]["issuerRef"]
        assert issuer["kind"] == "Issuer", "in the namespace of the Certificate"
        assert issuer["name"] in issuers


@with_it
def test_the_authority_signs_by_its_secret_and_keeps_its_key(setup: Setup) -> None:
    authority = named(setup, "Certificate", "shuntyard-authority")["spec"]
    assert named(setup, "Issuer", "shuntyard")["spec"] == {
        "ca": {"secretName": authority["secretName"]}
    }
    assert authority["isCA"]
    assert authority["privateKey"]["rotationPolicy"] == "Never", "agents hear of a new one late"
    assert named(setup, "Issuer", authority["issuerRef"]["name"])["spec"] == {"selfSigned": {}}


@with_it
def test_who_is_let_in_as_kube_scheduler_is_only_a_client(setup: Setup) -> None:
    client = named(setup, "Certificate", "shuntyard-kube-scheduler")["spec"]
    (name,) = ExtenderSettings().scheduler.client_names
    assert (client["commonName"], client["dnsNames"]) == (name, [name])
    assert "client auth" in client["usages"]
    assert "server auth" not in client["usages"]
    server = named(setup, "Certificate", "shuntyard-extender")["spec"]
    assert "client auth" not in server["usages"]
    assert name not in server["dnsNames"]


@with_it
def test_no_secret_of_ours_is_left_and_the_config_map_is(setup: Setup) -> None:
    names = {
        (one["kind"], one["metadata"]["name"])
        for one in of_kind(setup, "Secret", "Role", "ConfigMap")
    }
    assert not {kind for kind, name in names if name == "shuntyard-certificates"}
    assert {("ConfigMap", "shuntyard-ca"), ("Role", "shuntyard-ca")} <= names


def test_the_folder_speaks_of_nothing_cluster_wide() -> None:
    for file in (DEPLOY / "components/cert-manager").glob("*.yaml"):
        assert "ClusterIssuer" not in [one["kind"] for one in yaml.safe_load_all(file.read_text())]

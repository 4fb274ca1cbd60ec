"""A check that cannot read something does not stop the others."""

import json
from typing import Any

import pytest

from cli.connection import Answer
from cli.doctor import running, schedulers
from cli.doctor.findings import Level
from cli.doctor.rights import REVIEWS
from shared.kube import paths
from tests.unit.cli.doctor import healthy
from tests.unit.cli.doctor.breaking import MUTATING
from tests.unit.cli.doctor.healthy import FakeCluster, findings

OK, WARNING, FAULT, UNKNOWN = Level
pytestmark = pytest.mark.usefixtures("patience")

FORBIDDEN: dict[str, tuple[str, str, str]] = {
    "namespaces": (paths.namespace(healthy.SYSTEM), "namespaces", "`get` on `namespaces`"),
    "reviews": (REVIEWS, "rights", "`create` on `subjectaccessreviews.authorization.k8s.io`"),
    "the Deployment": (
        healthy.DEPLOYMENT, "deployment",
        "`get` on `deployments.apps` in the namespace shuntyard-system",
    ),
    "the settings": (
        healthy.EXTENDER_YAML, "lease", "`get` on `configmaps` in the namespace shuntyard-system",
    ),
    "the Lease": (
        healthy.LEASE, "lease", "`get` on `leases.coordination.k8s.io` in the namespace",
    ),
    "the replicas": (paths.pods(healthy.SYSTEM), "lease", "whether extender-a is one of"),
    "the read API": (healthy.QUEUE, "read-api", "`get` on `services/proxy`"),
    "the nodes of the read API": (healthy.NODES, "agents", "`get` on `services/proxy`"),
    "the Secret": (
        healthy.SECRET, "certificates", "`get` on `secrets` in the namespace shuntyard-system",
    ),
    "the claim": (healthy.CLAIM, "volume", "`get` on `persistentvolumeclaims`"),
    "policies": (
        MUTATING, "gate", "`list` on `mutatingadmissionpolicies.admissionregistration.k8s.io`",
    ),
    "pods": (paths.PODS, "neighbours", "`list` on `pods`"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "check", "right"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_forbidden_object_is_unknown_and_no_fault(
    well: FakeCluster, path: str, check: str, right: str
) -> None:
    well.forbidden.add(path)
    found = findings(well)
    assert {one.level for one in found} <= {OK, UNKNOWN}
    assert [one for one in found if one.check == check and right in one.message], found


def test_doctor_names_the_rights_that_a_user_needs(well: FakeCluster) -> None:
    well.forbidden.update({*well.objects, *well.bodies, REVIEWS} - {"/version"})
    found = findings(well)
    assert {one.level for one in found} == {OK, UNKNOWN}
    assert all("right" in one.message for one in found if one.level is UNKNOWN), found


PAGE = b"<html>\n<head><title>403 Forbidden</title></head>\n<body><h1>nginx</h1></body></html>"
OTHERS: dict[str, tuple[bytes, str]] = {
    "a proxy with a page": (
        PAGE, "by a program before the API server: 403 Forbidden nginx; does `kubectl get --raw",
    ),
    "a proxy with JSON": (
        b'{"reason": "Forbidden", "message": "no"}', 'API server: {"reason": "Forbidden", "mess',
    ),
    "a proxy without words": (b"", "by a program before the API server: an empty body"),
    "a webhook": (
        healthy.refusal('admission webhook "guard" denied the request: not today'),
        'by the API server (status 403): admission webhook "guard" denied the request: not today',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "message"), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize(
    ("path", "check"),
    [(healthy.CLAIM, "volume"), (healthy.NODES, "agents")],
    ids=["own", "proxied"],
)
def test_what_refuses_without_rbac_is_named_and_no_right(
    well: FakeCluster, path: str, check: str, body: bytes, message: str
) -> None:
    well.forbidden.add(path)
    well.refusal = body
    (found,) = [one for one in findings(well, check) if one.level is UNKNOWN]
    assert message in found.message
    assert f"{path} is refused" in found.message
    assert "right" not in found.message


def test_a_page_of_a_proxy_before_the_read_api_needs_no_role(well: FakeCluster) -> None:
    well.forbidden.add(healthy.QUEUE)
    assert [one.fix for one in findings(well, "read-api")] == ["ask for the Role shuntyard-viewer"]
    well.refusal = PAGE
    assert [one.fix for one in findings(well, "read-api")] == [""]


def test_a_malformed_object_stops_no_other_check(well: FakeCluster) -> None:
    well.objects[healthy.DEPLOYMENT] = {"spec": 1}
    well.objects[healthy.LEASE] = {"spec": {"holderIdentity": "x", "renewTime": "then"}}
    found = findings(well)
    assert {one.check for one in found} == set(running.CHECKS)
    assert next(one for one in found if one.check == "lease").level is UNKNOWN


def test_another_release_of_the_command_is_reported(well: FakeCluster) -> None:
    (finding,) = [one for one in findings(well, "versions", "0.2.0") if one.level is WARNING]
    assert finding.message == "the extender is release 0.1.0, this command 0.2.0"


def test_a_list_is_read_page_by_page_up_to_a_limit(well: FakeCluster) -> None:
    reader, asked = well.site().reader, []

    def ask(path: str, query: Any, body: bytes | None) -> Any:
        asked.append(query.get("continue", ""))
        pod = healthy.running(f"p-{len(asked)}", "node-a")
        page = {"items": [pod] * 500, "metadata": {"continue": f"c{len(asked)}"}}
        return Answer(200, json.dumps(page).encode())

    reader.ask = ask
    assert len(reader.items(paths.PODS)) == 10_000
    assert asked[:3] == ["", "c1", "c2"]
    assert schedulers.of_running_pods([], []).level is OK

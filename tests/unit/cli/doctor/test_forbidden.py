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

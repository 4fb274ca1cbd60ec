"""What the doctor may not read, or cannot, keeps no other check from its work."""

import json
from typing import Any

import pytest

from cli.connection import Answer
from cli.doctor import neighbours, running
from cli.doctor.findings import Level
from cli.doctor.rights import REVIEWS
from shared.kube import paths
from tests.unit.cli.doctor import healthy
from tests.unit.cli.doctor.breaking import POLICIES
from tests.unit.cli.doctor.healthy import FakeCluster, found

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
        POLICIES, "gate", "`list` on `mutatingadmissionpolicies.admissionregistration.k8s.io`",
    ),
    "pods": (paths.PODS, "neighbours", "`list` on `pods`"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "check", "right"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_may_not_be_read_is_not_known_and_no_fault(
    well: FakeCluster, path: str, check: str, right: str
) -> None:
    well.forbidden.add(path)
    findings = found(well)
    assert {one.level for one in findings} <= {OK, UNKNOWN}
    assert [one for one in findings if one.check == check and right in one.said], findings


def test_who_may_read_nothing_is_told_which_rights_are_needed(well: FakeCluster) -> None:
    well.forbidden.update({*well.objects, *well.bodies, REVIEWS} - {"/version"})
    findings = found(well)
    assert {one.level for one in findings} == {OK, UNKNOWN}
    assert all("right" in one.said for one in findings if one.level is UNKNOWN), findings


def test_an_object_that_is_none_keeps_no_other_check_from_its_work(well: FakeCluster) -> None:
    well.objects[healthy.DEPLOYMENT] = {"spec": 1}
    well.objects[healthy.LEASE] = {"spec": {"holderIdentity": "x", "renewTime": "then"}}
    findings = found(well)
    assert {one.check for one in findings} == set(running.CHECKS)
    assert next(one for one in findings if one.check == "lease").level is UNKNOWN


def test_another_release_of_the_command_is_told(well: FakeCluster) -> None:
    (said,) = [one for one in found(well, "versions", "0.2.0") if one.level is WARNING]
    assert said.said == "the extender is release 0.1.0, this command 0.2.0"


def test_a_list_is_read_page_by_page_and_not_for_ever(well: FakeCluster) -> None:
    reader, asked = well.site().reader, []

    def ask(path: str, query: Any, body: bytes | None) -> Any:
        asked.append(query.get("continue", ""))
        pod = healthy.running(f"p-{len(asked)}", "node-a")
        page = {"items": [pod] * 500, "metadata": {"continue": f"c{len(asked)}"}}
        return Answer(200, json.dumps(page).encode())

    reader.ask = ask
    assert len(reader.items(paths.PODS)) == 10_000
    assert asked[:3] == ["", "c1", "c2"]
    assert neighbours.of_the_pods([], []).level is OK

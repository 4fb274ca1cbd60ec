"""Calls in the audit log of a real kube-apiserver, compared with the rights in the manifests."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from devcluster.credentials.bootstrap import DEPLOY
from devcluster.errors import DevclusterError
from devcluster.rights import calls
from devcluster.rights.calls import Call
from devcluster.rights.granted import Right, compare, documents, granted, report

EXTENDER = calls.EXTENDER


def event(decision: str = "allow", **more: Any) -> bytes:
    """A line of the log, as kube-apiserver 1.36.3 writes it, without what is not read."""
    reason = (
        'RBAC: allowed by ClusterRoleBinding "shuntyard-extender" of ClusterRole '
        '"shuntyard-extender" to ServiceAccount "shuntyard-extender/shuntyard-system"'
    )
    line = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "stage": "ResponseComplete",
        "requestURI": "/apis?limit=1",
        "verb": "get",
        "user": {"username": EXTENDER, "groups": ["system:authenticated"]},
        "userAgent": "shuntyard-extender",
        "responseStatus": {"metadata": {}, "code": 200},
        "annotations": {
            "authorization.k8s.io/decision": decision,
            "authorization.k8s.io/reason": reason if decision == "allow" else "",
        },
        **more,
    }
    return json.dumps(line).encode() + b"\n"


BINDING = {
    "resource": "pods",
    "namespace": "team",
    "name": "worker-0",
    "apiVersion": "v1",
    "subresource": "binding",
}
LEASE = {
    "resource": "leases",
    "namespace": "kube-system",
    "name": "shuntyard",
    "apiGroup": "coordination.k8s.io",
    "apiVersion": "v1",
}
OURS = "shuntyard-extender"
EVENTS: dict[str, tuple[bytes, Call]] = {
    "a subresource somewhere: no names": (
        event(verb="create", objectRef=BINDING),
        Call(EXTENDER, "create", "", "pods/binding", "*", role=OURS),
    ),
    "one object where rights are for one": (
        event(objectRef=LEASE),
        Call(
            EXTENDER, "get", "coordination.k8s.io", "leases", "kube-system", "shuntyard", role=OURS
        ),
    ),
    "a collection of all namespaces": (
        event(verb="watch", objectRef={"resource": "nodes", "apiVersion": "v1"}),
        Call(EXTENDER, "watch", "", "nodes", role=OURS),
    ),
    "no resource: its path": (event(), Call(EXTENDER, "get", "", "/apis", role=OURS)),
    "refused: no role": (
        event("forbid", objectRef=LEASE),
        Call(
            EXTENDER,
            "get",
            "coordination.k8s.io",
            "leases",
            "kube-system",
            "shuntyard",
            allowed=False,
        ),
    ),
}


@pytest.mark.parametrize(("line", "call"), EVENTS.values(), ids=EVENTS)
def test_a_line_of_the_log_is_a_call(line: bytes, call: Call) -> None:
    assert list(calls.parse([line])) == [call]


def test_a_line_that_is_still_being_written_is_left_out() -> None:
    assert len(list(calls.parse([event(), event()[:50]]))) == 1


def test_all_files_of_a_log_are_read_and_too_many_are_an_error(tmp_path: Path) -> None:
    (tmp_path / calls.LOG).write_bytes(event())
    (tmp_path / "calls-2026-11-22T14-00-00.000.log").write_bytes(event())
    (call,) = calls.read(tmp_path).items()
    assert call == (Call(EXTENDER, "get", "", "/apis", role=OURS), 2)
    for number in range(calls.MOST_OLD_FILES):
        (tmp_path / f"calls-{number}.log").touch()
    with pytest.raises(DevclusterError, match="more calls than the audit log keeps"):
        calls.read(tmp_path)


def test_calls_of_all_clusters_are_summed_in_the_file_of_the_variable(tmp_path: Path) -> None:
    log, kept = tmp_path / "audit", tmp_path / "kept"
    log.mkdir()
    (log / calls.LOG).write_bytes(event() * 3)
    calls.keep_all(log, {})
    assert not kept.exists()
    for _ in range(2):
        calls.keep_all(log, {calls.VARIABLE: str(kept)})
    calls.keep_all(tmp_path / "no-log-here", {calls.VARIABLE: str(kept)})
    assert set(calls.kept(kept).values()) == {6}


MANIFESTS = """
kind: ClusterRole
metadata: {name: wide}
rules:
- {apiGroups: [""], resources: [pods, pods/binding], verbs: [create]}
- {apiGroups: [batch], resources: [jobs], verbs: [list, patch]}
---
kind: Role
metadata: {name: narrow, namespace: kube-system}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [a, b], verbs: [get]}
---
kind: ClusterRoleBinding
metadata: {name: x}
roleRef: {kind: ClusterRole, name: wide}
subjects: [{kind: ServiceAccount, name: shuntyard-extender}]
---
kind: RoleBinding
metadata: {name: y, namespace: kube-system}
roleRef: {kind: Role, name: narrow}
subjects: [{kind: ServiceAccount, name: shuntyard-extender}]
---
kind: ClusterRoleBinding
metadata: {name: z}
roleRef: {kind: ClusterRole, name: system:kube-scheduler}
subjects: [{kind: ServiceAccount, name: shuntyard-extender}]
"""
GIVEN = granted(yaml.safe_load_all(MANIFESTS))


def test_rights_are_counted_one_by_one() -> None:
    group, place = "coordination.k8s.io", "kube-system"
    assert GIVEN.rights == {
        Right(OURS, "", "pods", "create"),
        Right(OURS, "", "pods/binding", "create"),
        Right(OURS, "batch", "jobs", "list"),
        Right(OURS, "batch", "jobs", "patch"),
        Right(OURS, group, "leases", "get", place, "a"),
        Right(OURS, group, "leases", "get", place, "b"),
    }
    assert GIVEN.borrowed == {"system:kube-scheduler"}


ALL = Counter(
    [
        Call(EXTENDER, "create", "", "pods", "*", role="wide"),
        Call(EXTENDER, "create", "", "pods/binding", "*", role="wide"),
        Call(EXTENDER, "list", "batch", "jobs", role="wide"),
        Call(EXTENDER, "patch", "batch", "jobs", "*", role="wide"),
        Call(EXTENDER, "get", "coordination.k8s.io", "leases", "kube-system", "a", role="narrow"),
        Call(calls.SCHEDULER, "get", "coordination.k8s.io", "leases", "kube-system", "b"),
        Call(calls.SCHEDULER, "watch", "", "services", role="system:kube-scheduler"),
        Call(EXTENDER, "get", "", "/apis", role="system:discovery"),
    ]
)
AGENT = "system:serviceaccount:shuntyard-agents:shuntyard-agent"
WRONG: dict[str, tuple[Call, str]] = {
    "another verb": (
        Call(EXTENDER, "delete", "batch", "jobs", "*", allowed=False),
        f"missing: {EXTENDER} calls delete jobs.batch in *",
    ),
    "another object": (
        Call(
            EXTENDER, "get", "coordination.k8s.io", "leases", "kube-system", "other", allowed=False
        ),
        f"missing: {EXTENDER} calls get leases.coordination.k8s.io 'other' in kube-system",
    ),
    "another namespace": (
        Call(EXTENDER, "get", "coordination.k8s.io", "leases", "*", "a", allowed=False),
        f"missing: {EXTENDER} calls get leases.coordination.k8s.io 'a' in *",
    ),
    "a role that is not ours": (
        Call(EXTENDER, "list", "", "secrets", role="cluster-admin"),
        f"foreign: {EXTENDER} calls list secrets, allowed by cluster-admin",
    ),
    "an agent, which may nothing": (
        Call(AGENT, "create", "", "pods", "*", allowed=False),
        f"missing: {AGENT} calls create pods in *",
    ),
}


def test_rights_are_exact_if_all_are_used_and_no_other() -> None:
    found = compare(ALL, GIVEN)
    assert found.exact, list(report(found))
    assert list(report(found)) == ["6 rights used, 0 unused"]


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_a_call_without_a_right_is_reported(call: Call, text: str) -> None:
    found = compare(ALL + Counter([call]), GIVEN)
    assert not found.exact
    assert next(report(found)) == text


def test_a_right_that_a_test_took_away_is_not_missing() -> None:
    refused = Call(EXTENDER, "list", "batch", "jobs", allowed=False)
    assert compare(ALL + Counter([refused]), GIVEN).exact


def test_a_call_refused_only_while_the_api_server_starts_is_not_missing() -> None:
    allowed = Call(calls.SCHEDULER, "watch", "", "nodes", role="system:kube-scheduler")
    refused = replace(allowed, allowed=False, role="")
    assert compare(ALL + Counter([refused, allowed]), GIVEN).exact
    assert compare(ALL + Counter([refused]), GIVEN).missing == (refused,)


def test_a_list_that_was_refused_in_place_of_a_watch_is_not_missing() -> None:
    watched = Call(calls.SCHEDULER, "watch", "", "nodes", role="system:kube-scheduler")
    refused = replace(watched, verb="list", allowed=False, role="")
    assert compare(ALL + Counter([refused, watched]), GIVEN).exact
    deleted = replace(refused, verb="delete")
    assert compare(ALL + Counter([deleted, watched]), GIVEN).missing == (deleted,)


def test_a_refused_call_does_not_use_a_right_and_unused_rights_are_named() -> None:
    refused = Call(EXTENDER, "patch", "batch", "jobs", "*", allowed=False)
    patched = Call(EXTENDER, "patch", "batch", "jobs", "*", role="wide")
    found = compare(ALL - Counter([patched]) + Counter([refused]), GIVEN)
    assert next(report(found)) == "unused: shuntyard-extender may patch jobs.batch (wide)"


def test_the_base_gives_rights_only_to_the_extender_and_to_viewers() -> None:
    found = granted(documents(DEPLOY / "base"))
    assert {right.account for right in found.rights} == {"shuntyard-extender", "shuntyard-viewer"}
    assert not any("*" in (right.verb, right.group, right.resource) for right in found.rights)


def test_review_rights_are_those_of_tokens_and_of_access_alone() -> None:
    rights = granted(documents(DEPLOY / "base")).rights
    reviews = {(r.resource, r.verb) for r in rights if r.resource.endswith("reviews")}
    assert reviews <= {("tokenreviews", "create"), ("subjectaccessreviews", "create")}

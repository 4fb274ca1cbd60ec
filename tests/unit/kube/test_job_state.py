"""Suspension and failures of a Job."""

import json

import pytest

from shared.kube import parse
from shared.model import JobState


def decoded(spec, status=None, labels=None):
    metadata = {"name": "j", "namespace": "n", "uid": "u", "labels": labels or {}}
    raw = {"metadata": metadata, "spec": spec, "status": status or {}}
    return parse.decode_job(json.dumps(raw).encode()).job


def rule(action, **conditions):
    return {"podFailurePolicy": {"rules": [{"action": action, **conditions}]}}


def exits(operator, *values):
    return {"onExitCodes": {"operator": operator, "values": list(values)}}


DISRUPTED = {"onPodConditions": [{"type": "DisruptionTarget"}]}
CASES = {
    "empty": ({}, JobState(failures_left=6)),
    "suspended": ({"suspend": True}, JobState(suspended=True, failures_left=6)),
    "a limit": ({"backoffLimit": 2}, JobState(failures_left=2)),
    "a limit for each index": (
        {"backoffLimit": 2**31 - 1, "backoffLimitPerIndex": 1},
        JobState(failures_left=1, per_index=True),
    ),
    "the built-in controller by name": (
        {"managedBy": "kubernetes.io/job-controller"},
        JobState(failures_left=6),
    ),
    "another controller": (
        {"managedBy": "kueue.x-k8s.io/multikueue"},
        JobState(failures_left=6, managed=True),
    ),
    "ended by a disruption": (
        rule("FailJob", **DISRUPTED),
        JobState(failures_left=6, fails_with_pod=True),
    ),
    "a disruption is ignored": (rule("Ignore", **DISRUPTED), JobState(failures_left=6)),
    "ended by SIGTERM's code": (
        rule("FailIndex", **exits("In", 1, 143)),
        JobState(failures_left=6, fails_with_pod=True),
    ),
    "ended by other codes": (rule("FailJob", **exits("In", 1)), JobState(failures_left=6)),
    "ended by all codes but one": (
        rule("FailJob", **exits("NotIn", 1)),
        JobState(failures_left=6, fails_with_pod=True),
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_the_state_of_a_job(spec, expected):
    assert decoded(spec) == expected


def test_failures_so_far_reduce_only_the_jobs_limit():
    status = {"failed": 2, "active": 3}
    assert decoded({}, status) == JobState(failures_left=4, active=3)
    per_index = decoded({"backoffLimitPerIndex": 1}, status)
    assert per_index == JobState(failures_left=1, per_index=True, active=3)


def test_the_first_matching_rule_counts():
    rules = [{"action": "Ignore", **DISRUPTED}, {"action": "FailJob", **exits("In", 143)}]
    assert decoded({"podFailurePolicy": {"rules": rules}}).fails_with_pod is False


def test_kueue_suspends_a_job_in_its_queue():
    assert decoded({}, labels={"kueue.x-k8s.io/queue-name": "q"}).managed


def test_null_is_like_a_missing_field():
    nulls = {"suspend": None, "backoffLimit": None, "podFailurePolicy": None, "managedBy": None}
    assert decoded(nulls, {"active": None, "failed": None}) == JobState(failures_left=6)

import pytest

from shared.kube import paths

CASES = {
    "pod": (paths.pod("n", "a"), "/api/v1/namespaces/n/pods/a"),
    "status": (paths.pod("n", "a", "status"), "/api/v1/namespaces/n/pods/a/status"),
    "pods": (paths.pods("n"), "/api/v1/namespaces/n/pods"),
    "binding": (paths.binding("n", "a"), "/api/v1/namespaces/n/pods/a/binding"),
    "node": (paths.node("node-1.example.org"), "/api/v1/nodes/node-1.example.org"),
    "namespace": (paths.namespace("n"), "/api/v1/namespaces/n"),
    "lease": (paths.lease("n", "l"), "/apis/coordination.k8s.io/v1/namespaces/n/leases/l"),
    "events": (paths.events("n"), "/apis/events.k8s.io/v1/namespaces/n/events"),
    "job": (paths.namespaced(paths.JOBS, "n", "j"), "/apis/batch/v1/namespaces/n/jobs/j"),
    "a name cannot leave its place": (paths.pod("n", "../x"), "/api/v1/namespaces/n/pods/..%2Fx"),
}


@pytest.mark.parametrize(("made", "expected"), CASES.values(), ids=CASES)
def test_paths_equal_those_of_the_api(made: str, expected: str) -> None:
    assert made == expected

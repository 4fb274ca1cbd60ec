"""`shuntyard submit`: scheduler and gate are added, what-if's answer is shown, the job created."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import gating
from cli.__main__ import main
from extender.core.kinds import registry
from shared import labels
from tests.unit.cli.conftest import ApiServer, Canned
from tests.unit.cli.dry_run_cluster import (
    CANNOT_CREATE,
    JOBS,
    LIMITED,
    PODS,
    Cluster,
    accepting,
    forbidden,
    invalid,
    job,
    torch,
)
from tests.unit.cli.dry_run_cluster import stored as accepted
from tests.unit.cli.test_by_service import PROXY, status

GATE = [{"name": "shuntyard.io/queue"}]
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "key"},
    "stringData": {"a": "b"},
}


class Stdin(io.StringIO):
    """A terminal at which a line is typed."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def cluster(api_server: ApiServer, capsys: pytest.CaptureFixture[str]) -> Cluster:
    return accepting(api_server, capsys)


Submit = Callable[..., tuple[int, str, str]]


@pytest.fixture
def submit(cluster: Cluster) -> Submit:
    def run(*documents: Any, more: tuple[str, ...] = ("--yes",)) -> tuple[int, str, str]:
        file = cluster.server.directory / "job.yaml"
        file.write_text(yaml.safe_dump_all(documents))
        code = main(["submit", "-f", str(file), "-n", "vision", *more])
        printed = cluster.capsys.readouterr()
        return code, printed.out, printed.err

    return run


def stored(cluster: Cluster, path: str) -> list[Any]:
    """The objects that were created at a path, not in a dry run."""
    posts = zip(cluster.posts, cluster.server.known.bodies, strict=True)
    return [
        json.loads(body)
        for found, body in posts
        if found.split("?")[0] == path and "dryRun" not in found
    ]


def test_a_job_is_created_with_scheduler_and_gate_after_the_answer_of_what_if(
    cluster: Cluster, submit: Submit
) -> None:
    code, out, err = submit(job())
    assert (code, err) == (0, "")
    (created,) = stored(cluster, JOBS)
    pod = created["spec"]["template"]["spec"]
    assert (pod["schedulerName"], pod["schedulingGates"]) == ("shuntyard", GATE)
    assert pod["containers"] == LIMITED["spec"]["containers"]
    lines = out.splitlines()
    assert lines[1] == "Starts:   now"
    assert lines[-2:] == [
        "jobs.batch/mine created",
        "`shuntyard explain vision/mine` shows why it waits, `shuntyard jobs -n vision` all jobs",
    ]
    asked = [path.split("?")[0] for path in cluster.posts]
    assert asked.count(JOBS) == 2  # a dry run, and the job after the question
    assert asked.index(f"{PROXY}/v1/what-if") < len(asked) - 1
    assert asked[-1] == JOBS


def test_what_if_is_asked_about_the_gated_job(cluster: Cluster, submit: Submit) -> None:
    submit(job(), more=("--dry-run",))
    assert cluster.sent["spec"]["template"]["spec"]["schedulingGates"] == GATE


def with_policy(body: bytes) -> Canned:
    """A pod as the policy of deploy/components/gate leaves it while no job lacks room."""
    code, answer = accepted(body)
    pod = json.loads(answer)
    if labels.CHECKPOINT in (pod["metadata"].get("annotations") or {}):
        pod["spec"]["schedulingGates"] = GATE
    return code, json.dumps(pod).encode()


def test_where_the_cluster_adds_the_gate_the_manifest_has_none(
    cluster: Cluster, submit: Submit
) -> None:
    cluster.server.known.answers[PODS] = with_policy
    code, out, _ = submit(job())
    assert code == 0
    (created,) = stored(cluster, JOBS)
    pod = created["spec"]["template"]["spec"]
    assert pod["schedulerName"] == "shuntyard"
    assert "schedulingGates" not in pod
    assert "Note:     the cluster adds the gate to the pods while jobs lack room" in out
    assert stored(cluster, PODS) == []


def test_a_job_whose_owner_alone_may_be_moved_gets_the_gate_all_the_same(
    cluster: Cluster, submit: Submit
) -> None:
    cluster.server.known.answers[PODS] = with_policy
    movable = job()
    movable["metadata"]["annotations"] = {labels.CHECKPOINT: "/ckpt"}
    assert submit(movable)[0] == 0
    (created,) = stored(cluster, JOBS)
    assert created["spec"]["template"]["spec"]["schedulingGates"] == GATE


def test_a_user_who_may_not_create_pods_gets_the_gate_in_the_manifest(
    cluster: Cluster, submit: Submit
) -> None:
    cluster.server.known.answers[PODS] = forbidden(CANNOT_CREATE.format("pods"))
    assert submit(job())[0] == 0
    (created,) = stored(cluster, JOBS)
    assert created["spec"]["template"]["spec"]["schedulingGates"] == GATE


def test_every_role_of_an_operators_job_is_gated(cluster: Cluster, submit: Submit) -> None:
    path = "/apis/kubeflow.org/v1/namespaces/vision/pytorchjobs"
    assert submit(torch(Master=LIMITED, Worker=LIMITED))[0] == 0
    (created,) = stored(cluster, path)
    roles = created["spec"]["pytorchReplicaSpecs"].values()
    assert [role["template"]["spec"]["schedulingGates"] for role in roles] == [GATE, GATE]


def test_other_objects_are_created_unchanged_and_in_order(cluster: Cluster, submit: Submit) -> None:
    code, out, _ = submit(SECRET, job())
    assert code == 0
    assert out.splitlines()[-3:-1] == ["secrets/key created", "jobs.batch/mine created"]
    (secret,) = stored(cluster, "/api/v1/namespaces/vision/secrets")
    assert secret == SECRET


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("YES\n", 0), ("n\n", 1), ("", 1)])
def test_a_terminal_is_asked(
    cluster: Cluster, submit: Submit, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(typed))
    found, out, _ = submit(job(), more=())
    assert found == code
    assert "create Job vision/mine? [y/N]" in out
    assert len(stored(cluster, JOBS)) == (code == 0)


def test_without_a_terminal_nothing_is_created_unasked(
    cluster: Cluster, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    code, _, err = submit(job(), more=())
    assert code == 1
    assert "standard input is not a terminal: use --yes" in err
    assert stored(cluster, JOBS) == []


def test_a_dry_run_creates_nothing(cluster: Cluster, submit: Submit) -> None:
    code, out, _ = submit(job(), more=("--dry-run",))
    assert code == 0
    assert out.splitlines()[-1] == "nothing was created: --dry-run"
    assert stored(cluster, JOBS) == []


def test_a_dry_run_prints_the_manifest_for_kubectl(cluster: Cluster, submit: Submit) -> None:
    code, out, _ = submit(SECRET, job(), more=("--dry-run", "-o", "yaml"))
    assert code == 0
    secret, made = yaml.safe_load_all(out)
    assert secret == SECRET
    assert made["spec"]["template"]["spec"]["schedulerName"] == "shuntyard"
    assert cluster.posts == []
    _, out, _ = submit(SECRET, job(), more=("--dry-run", "-o", "json"))
    assert [item["kind"] for item in json.loads(out)["items"]] == ["Secret", "Job"]


def test_a_forecast_that_fails_does_not_keep_the_job_from_waiting(
    cluster: Cluster, submit: Submit
) -> None:
    cluster.server.known.answers[f"{PROXY}/v1/what-if"] = (503, b"not synced yet")
    code, out, _ = submit(job())
    assert code == 0
    assert out.startswith("Forecast: none, not synced yet (status 503)")
    assert len(stored(cluster, JOBS)) == 1


def test_what_the_api_server_would_refuse_is_not_created(cluster: Cluster, submit: Submit) -> None:
    refused = invalid(("spec.parallelism", "must be greater than 0", "FieldValueInvalid"))
    cluster.server.known.answers[JOBS] = refused
    code, _, err = submit(job())
    assert code == 1
    assert "would refuse Job vision/mine: spec.parallelism: must be greater than 0" in err
    assert stored(cluster, JOBS) == []


REFUSALS: dict[str, tuple[Any, str]] = {
    "it exists": (
        status(409, "AlreadyExists", "exists"),
        "give the new one another name, or remove the old one with `kubectl delete jobs.batch mine",
    ),
    "a right is missing": (
        forbidden('User "bob" cannot create resource "jobs"'),
        "you lack the right `create` on `jobs.batch` in the namespace vision: ask your",
    ),
    "a quota is exhausted": (
        forbidden("exceeded quota: gpus"),
        "jobs.batch mine was refused: exceeded quota: gpus; correct it",
    ),
}


@pytest.mark.parametrize(("answer", "message"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_says_what_was_created_before_it(
    cluster: Cluster, submit: Submit, answer: Any, message: str
) -> None:
    accepted = cluster.server.known.answers[JOBS]

    def dry_run_only(body: bytes) -> Any:
        found = cluster.server.known.asked[-1]
        return accepted(body) if "dryRun" in found and callable(accepted) else answer

    cluster.server.known.answers[JOBS] = dry_run_only
    code, _, err = submit(SECRET, job())
    assert code == 1
    assert message in err
    assert "created before: secrets key -n vision, `kubectl delete secrets key -n vision`" in err


WRONG: dict[str, tuple[Any, str]] = {
    "another scheduler": (
        job(template={"spec": {**LIMITED["spec"], "schedulerName": "volcano"}}),
        "the pod template of Job has schedulerName volcano: remove it",
    ),
    "no job": (SECRET, "no object of the manifest is a job; submit takes Pod, Job, StatefulSet"),
    "no object": (["x"], "no object of the manifest is a job"),
}


@pytest.mark.parametrize(("document", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_wait_in_the_queue_is_an_error(
    cluster: Cluster, submit: Submit, document: Any, message: str
) -> None:
    code, _, err = submit(document)
    assert code == 1
    assert message in err
    assert cluster.posts == []


OPTIONS = {
    "input that is read twice": (["-f", "-"], "-f - needs --yes or --dry-run"),
    "a manifest and a job": (["-f", "x", "-o", "yaml"], "needs --dry-run"),
    "past the API server": (["-f", "x", "--url", "http://x"], "cannot be combined with submit"),
    "no file": ([], "-f/--file"),
}


@pytest.mark.parametrize(("argv", "words"), OPTIONS.values(), ids=OPTIONS)
def test_a_wrong_command_line_has_exit_code_2(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["submit", *argv])
    assert end.value.code == 2
    assert words in capsys.readouterr().err


def test_every_kind_whose_pods_are_known_can_be_submitted() -> None:
    assert set(registry.understood()) - set(gating.KINDS) == set()


def test_a_gate_that_is_there_is_not_added_twice() -> None:
    gated = {"spec": {"containers": [], "schedulingGates": [{"name": "x"}, *GATE]}}
    (made,) = gating.queued([job(template=gated)]).documents
    assert made["spec"]["template"]["spec"]["schedulingGates"] == [{"name": "x"}, *GATE]
    assert "schedulerName" not in gated["spec"]  # the user's object is unchanged


def test_the_pod_that_submits_a_ray_job_is_not_gated() -> None:
    pod, head = ({"spec": {"containers": [{"name": name}]}} for name in ("submit", "head"))
    spec = {
        "submitterPodTemplate": pod,
        "rayClusterSpec": {"headGroupSpec": {"template": head}, "workerGroupSpecs": []},
    }
    ray = {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "r"}, "spec": spec}
    (made,) = gating.queued([ray]).documents
    assert made["spec"]["submitterPodTemplate"] == pod
    gated = made["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    assert gated["schedulingGates"] == [{"name": labels.GATE}]


def test_a_train_job_names_where_its_templates_are() -> None:
    train = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {}}
    assert "to its TrainingRuntime" in gating.queued([train]).notes[0]


def deployment(*, own: Any = None, pod: Any = None, annotations: Any = None) -> dict[str, Any]:
    template = {
        "metadata": {"labels": pod, "annotations": annotations},
        "spec": {"containers": []},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": own},
        "spec": {"template": template},
    }


NAMED = {labels.JOB: "web"}
UNREAD = {
    "no label": {},
    "the label of the pods alone": {"pod": NAMED},
    "the label of the Deployment alone": {"own": NAMED},
    "the name of another job": {"own": {labels.JOB: "x"}, "pod": {labels.JOB: "x"}},
    "labels that are no mapping": {"own": ["web"], "pod": "web"},
}


@pytest.mark.parametrize("parts", UNREAD.values(), ids=UNREAD)
def test_a_deployment_that_is_not_labelled_as_a_training_job_gets_a_note(parts: Any) -> None:
    (note,) = gating.queued([deployment(**parts)]).notes
    assert note.startswith("Deployment web is not labelled as a training job")
    assert "add the label shuntyard.io/job: web to it and to its pod template" in note


@pytest.mark.parametrize(
    "parts", [{"own": NAMED, "pod": NAMED}, {"annotations": {labels.MIN_AVAILABLE: "2"}}]
)
def test_a_deployment_whose_size_is_known_gets_no_note(parts: Any) -> None:
    assert gating.queued([deployment(**parts)]).notes == []


EXAMPLES = sorted(Path("examples").glob("*.yaml"))


def test_the_examples_are_left_as_they_are() -> None:
    """They have scheduler and gate."""
    jobs = [file for file in EXAMPLES if "schedulingGates" in file.read_text()]
    assert jobs
    for file in jobs:
        documents = [one for one in yaml.safe_load_all(file.read_text()) if one]
        assert gating.queued(documents).documents == documents

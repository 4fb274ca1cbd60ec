"""`shuntyard park`, `resume` and `move`: which object is annotated, and what is refused."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from cli import parking
from cli.connection import Answer
from cli.errors import UnansweredError
from shared import labels

JOB = "/apis/batch/v1/namespaces/vision/jobs/train"
JOB_SET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/vision/jobsets/train"


class Server:
    """An API server with a few objects; it keeps what is written."""

    namespace = "vision"

    def __init__(self, objects: Mapping[str, dict[str, Any]]) -> None:
        self.objects = objects
        self.written: list[tuple[str, dict[str, Any]]] = []

    def ask(self, path: str, *_: object) -> Answer:
        found = self.objects.get(path)
        return Answer(404, b"{}") if found is None else Answer(200, json.dumps(found).encode())

    def patch(self, path: str, body: bytes) -> Answer:
        self.written.append((path, json.loads(body)))
        return Answer(200, b"{}")


def owner(*, parked: bool = False, above: str = "") -> dict[str, Any]:
    meta: dict[str, Any] = {"name": "train", "uid": "u", "resourceVersion": "7"}
    if parked:
        meta["annotations"] = {labels.PARK: "true"}
    if above:
        kind, _, name = above.partition("/")
        meta["ownerReferences"] = [{"kind": kind, "name": name, "controller": True}]
    return {"metadata": meta}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    from cli import arguments  # noqa: PLC0415 - as the program does

    def run(command: str, job: str, server: Server, *more: str) -> str:
        monkeypatch.setattr(parking.api_server, "of_options", lambda _: server)
        import sys  # noqa: PLC0415 - after capsys has replaced its streams

        assert parking.run(arguments.parse([command, job, *more]), sys.stdout) == 0
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize(("command", "text"), [("park", "true"), ("resume", None)])
def test_the_annotation_is_written_to_the_object_of_that_uid(
    run: Any, command: str, text: str | None
) -> None:
    server = Server({JOB: owner(parked=command == "resume")})
    assert "shuntyard explain train -n vision" in run(command, "train", server)
    meta = {"uid": "u", "annotations": {labels.PARK: text}}
    assert server.written == [(JOB, {"metadata": meta})]


@pytest.mark.parametrize(
    ("options", "text"), [((), "*"), (("--from", "gpu-1", "--from", "gpu-2"), "gpu-1,gpu-2")]
)
def test_a_move_names_the_nodes_that_the_job_leaves(
    run: Any, options: tuple[str, ...], text: str
) -> None:
    server = Server({JOB: owner()})
    assert "saves and moves" in run("move", "train", server, *options)
    meta = {"uid": "u", "annotations": {labels.MOVE: text}}
    assert server.written == [(JOB, {"metadata": meta})]


def test_nothing_is_written_twice(run: Any) -> None:
    server = Server({JOB: owner(parked=True)})
    assert "nothing was changed" in run("park", "train", server)
    assert server.written == []


def test_the_kind_decides_between_objects_of_one_name(run: Any) -> None:
    server = Server({JOB: owner(), JOB_SET: owner()})
    run("park", "vision/jobset/train", server)
    assert [path for path, _ in server.written] == [JOB_SET]


REFUSED: dict[str, tuple[dict[str, dict[str, Any]], str, str]] = {
    "a name that no job has": ({}, "train", "there is no job train in namespace vision"),
    "two objects of that name": (
        {JOB: owner(), JOB_SET: owner()}, "train", "state one of job/train, jobset/train",
    ),
    "a part of a larger job": (
        {JOB: owner(above="JobSet/whole")}, "train", "train belongs to jobset/whole: name that",
    ),
    "no name at all": ({}, "a/b/c/d", "expected NAME, KIND/NAME or NAMESPACE/KIND/NAME"),
}  # fmt: skip


@pytest.mark.parametrize(("objects", "job", "message"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused(
    run: Any, objects: dict[str, dict[str, Any]], job: str, message: str
) -> None:
    with pytest.raises(UnansweredError, match=message):
        run("park", job, Server(objects))

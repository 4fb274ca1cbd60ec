"""Examples parse, and everything in them names our scheduler and waits in our queue."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.demo import jobs as demo_jobs
from shared import labels
from tests.docs.pages import ROOT, short, yaml_files

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def _objects(path: Path) -> list[dict[str, Any]]:
    return [o for o in yaml.safe_load_all(path.read_text()) if o is not None]


def _pods(obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if obj["kind"] == "Pod":
        yield obj
    elif "template" in obj.get("spec", {}):
        yield obj["spec"]["template"]


@pytest.mark.parametrize("path", yaml_files(), ids=short)
def test_yaml_files_parse(path: Path) -> None:
    assert _objects(path)


@pytest.mark.parametrize("path", EXAMPLES, ids=short)
def test_example_pods_name_our_scheduler_and_wait_in_our_queue(path: Path) -> None:
    for obj in _objects(path):
        for pod in _pods(obj):
            assert pod["spec"]["schedulerName"] == labels.SCHEDULER_NAME
            assert pod["spec"]["schedulingGates"] == [{"name": labels.GATE}]


@pytest.mark.parametrize("path", EXAMPLES, ids=short)
def test_examples_use_no_key_of_ours_that_does_not_exist(path: Path) -> None:
    ours = {v for v in vars(labels).values() if isinstance(v, str)}
    used: set[str] = set()
    for obj in _objects(path):
        for meta in [obj["metadata"], *(pod.get("metadata", {}) for pod in _pods(obj))]:
            used |= set(meta.get("labels", {})) | set(meta.get("annotations", {}))
    assert {k for k in used if k.startswith(labels.DOMAIN)} <= ours


def test_the_demo_runs_every_example_job_of_a_fixed_size() -> None:
    with_jobs = {p.stem for p in EXAMPLES if any(_is_fixed_job(o) for o in _objects(p))}
    assert with_jobs == {*demo_jobs.ORDER, *demo_jobs.LAST} - {demo_jobs.ELASTIC}


def test_the_last_jobs_of_the_demo_show_what_they_are_for(tmp_path: Path) -> None:
    last = {job.name.partition("/")[2]: job for job in demo_jobs.read_last(tmp_path)}
    notes = {name: _job(job.manifests)["metadata"].get("annotations") for name, job in last.items()}
    assert notes["elastic"] == {labels.WORKERS: "1..4"}
    assert set(notes["priced"]) == {labels.UTILITY, labels.TRAINING}
    (pod,) = _pods(_job(last["parked"].manifests))
    assert pod["metadata"]["annotations"][labels.CHECKPOINT]


def _job(manifests: Any) -> dict[str, Any]:
    return next(dict(one) for one in manifests if one["kind"] == "Job")


def _is_fixed_job(obj: dict[str, Any]) -> bool:
    """An elastic one needs minutes and room to spare to show anything: `bench elastic` runs it."""
    return obj["kind"] == "Job" and labels.WORKERS not in obj["metadata"].get("annotations", {})


def test_examples_state_the_gang_size_that_the_demo_expects(tmp_path: Path) -> None:
    for job in demo_jobs.read_jobs(tmp_path):
        pods = [pod for manifest in job.manifests for pod in _pods(dict(manifest))]
        metas = [pod.get("metadata", {}).get("annotations", {}) for pod in pods]
        stated = {meta[labels.MIN_AVAILABLE] for meta in metas if labels.MIN_AVAILABLE in meta}
        assert stated <= {str(job.size)}
        assert len(pods) == 1 or stated


def test_in_the_demo_every_example_has_its_own_directory_on_the_volume(tmp_path: Path) -> None:
    for job in demo_jobs.read_jobs(tmp_path):
        pods = [pod for manifest in job.manifests for pod in _pods(dict(manifest))]
        volumes = [v for pod in pods for v in pod["spec"]["volumes"] if "hostPath" in v]
        places = [v["hostPath"]["path"] for v in volumes]
        assert places == [str(tmp_path / job.name)] * len(pods)

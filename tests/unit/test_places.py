"""Annotations to paths below the job's directory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import places
from shared.errors import InputError
from shared.places import MetricsPlace, PathVariables
from shared.progress import Goal

WHOSE = PathVariables("vision", "resnet", "resnet-3-abcde", "u-1", role="worker", index=3)

METRICS: dict[str, tuple[str | None, MetricsPlace]] = {
    "empty is by convention": (None, MetricsPlace()),
    "empty says nothing": ("", MetricsPlace()),
    "a path alone": ("path=metrics.jsonl", MetricsPlace(path="vision/resnet/metrics.jsonl")),
    "the container's log": (
        "path=log; format=keras; container=main",
        MetricsPlace(path="log", format="keras", container="main"),
    ),
    "everything": (
        (
            "path=lightning_logs/version_*/metrics.csv;format=csv ; metric=val_acc;goal=max;"
            "total-steps=500"
        ),
        MetricsPlace(
            path="vision/resnet/lightning_logs/version_*/metrics.csv",
            format="csv",
            metric="val_acc",
            goal=Goal.MAX,
            total_steps=500,
        ),
    ),
    "a regex may hold separators": (
        r"path=log; regex=step=(?P<step>\d+); loss=(?P<value>\S+)",
        MetricsPlace(path="log", format="regex", regex=r"step=(?P<step>\d+); loss=(?P<value>\S+)"),
    ),
    "names of the pod": (
        "path=m/$(POD_NAME)-$(INDEX).csv",
        MetricsPlace(path="vision/resnet/m/resnet-3-abcde-3.csv"),
    ),
}

WRONG: dict[str, str] = {
    "an unknown key": "file=metrics.jsonl",
    "no key": "metrics.jsonl",
    "a key twice": "metric=a; metric=b",
    "an empty value": "path=",
    "an unknown format": "format=xml",
    "an unknown goal": "goal=down",
    "steps that are no number": "total-steps=many",
    "no steps": "total-steps=0",
    "a regex with another format": "format=csv; regex=x",
    "the format regex without one": "format=regex",
    "an absolute path": "path=/etc/passwd",
    "a way out": "path=a/../../../other",
    "a way out through a name": "path=../$(POD_NAME)",
    "the directory itself": "path=.",
}


@pytest.mark.parametrize(("text", "place"), METRICS.values(), ids=METRICS)
def test_the_metrics_annotation_is_read(text: str | None, place: MetricsPlace) -> None:
    assert places.metrics_place(text, WHOSE) == place


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_cannot_be_used_names_the_annotation(text: str) -> None:
    with pytest.raises(InputError, match=r"annotation shuntyard\.io/metrics"):
        places.metrics_place(text, WHOSE)


CHECKPOINTS: dict[str, tuple[str, str]] = {
    "empty is the default": ("", "vision/resnet/checkpoints"),
    "a path": ("ckpt/a", "vision/resnet/ckpt/a"),
    "a directory for each role and index": ("$(ROLE)-$(INDEX)", "vision/resnet/worker-3"),
    "superfluous parts": ("./ckpt//a/", "vision/resnet/ckpt/a"),
}


@pytest.mark.parametrize(("text", "path"), CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_the_checkpoint_directory_is_below_the_jobs(text: str, path: str) -> None:
    assert places.checkpoint_directory(text, WHOSE) == path


@given(st.text(max_size=60))
def test_no_text_leads_out_of_the_jobs_directory(text: str) -> None:
    try:
        path = places.checkpoint_directory(text, WHOSE)
    except InputError:
        return
    assert path.startswith("vision/resnet/")
    assert ".." not in path.split("/")


def test_files_by_convention_begin_with_the_pods_name() -> None:
    assert places.conventional_metrics(WHOSE) == "vision/resnet/metrics/resnet-3-abcde*"

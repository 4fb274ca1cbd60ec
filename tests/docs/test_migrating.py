"""Before and after are the same gang: size, roles, wait and relations; named keys exist."""

import re
from typing import Any

import pytest

from extender.core.cluster.jobs import Job
from tests.docs import blocks, manifests, references
from tests.docs.pages import ROOT

PAGES = {
    "volcano": ROOT / "docs/migrating-from-volcano.md",
    "coscheduling": ROOT / "docs/migrating-from-coscheduling.md",
}
FILES = {
    block.file: manifests.objects(block.text)
    for page in PAGES.values()
    for block in blocks.of_page(page)
    if block.file
}
SAME = {
    "a PodGroup of Volcano stays": ("volcano-group-before.yaml", "volcano-group-after.yaml"),
    "a Job of Volcano becomes two Jobs": ("vcjob-before.yaml", "vcjob-after.yaml"),
    "a PodGroup of coscheduling stays": ("coscheduling-before.yaml", "coscheduling-after.yaml"),
    "a PodGroup of coscheduling goes": ("coscheduling-before.yaml", "coscheduling-anew.yaml"),
}
FOREIGN = re.compile(
    r"(?:scheduling\.k8s\.io|scheduling\.volcano\.sh|volcano\.sh|scheduling\.x-k8s\.io)/[a-z][a-z0-9-]*"
)


def gang(name: str) -> dict[str, Any]:
    """What of a file's one job decides how it is placed."""
    (job,) = manifests.jobs_of(FILES[name])
    assert job.problem is None
    return {
        "size": job.min_available,
        "roles": sorted((m.role, m.index, m.shape) for m in job.members),
        "wait": job.spec.max_wait_seconds,
        "relations": _relations(job),
    }


def _relations(job: Job) -> Any:
    return job.spec.relations


@pytest.mark.parametrize(("before", "after"), SAME.values(), ids=SAME)
def test_before_and_after_are_the_same_gang(before: str, after: str) -> None:
    assert gang(before) == gang(after)


def test_no_manifest_is_left_out() -> None:
    assert set(FILES) == {name for pair in SAME.values() for name in pair}


@pytest.mark.parametrize("name", FILES)
def test_pods_fit_the_schemas_and_those_after_are_ours_and_gated(name: str) -> None:
    for obj in FILES[name]:
        manifests.check_schema(obj)
        for pod in manifests.templates(obj):
            ours = pod["spec"].get("schedulerName") == "shuntyard"
            gated = pod["spec"].get("schedulingGates") == [{"name": "shuntyard.io/queue"}]
            assert (ours, gated) == ("before" not in name,) * 2


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_everything_that_the_page_names_exists(page) -> None:
    text = page.read_text()
    assert references.check_commands(text) > 0
    assert references.odd_settings(text) == []
    assert references.odd_keys(text) == set()
    read = references.foreign_keys()
    versions = {key for key in FOREIGN.findall(text) if re.search(r"/v1[a-z0-9]*$", key)}
    assert set(FOREIGN.findall(text)) - versions <= read

"""The page of job kinds names every kind and every key that puts a pod into a job."""

from pathlib import Path

import pytest

from extender.core.kinds import registry
from shared import foreign_labels
from shared.kube import kinds

PAGE = (Path(__file__).parents[2] / "docs" / "kinds.md").read_text()


@pytest.mark.parametrize("kind", registry.KINDS.kinds, ids=lambda kind: kind.kind)
def test_every_kind_has_a_row_with_the_fields_that_are_read(kind):
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{kind.kind}`")]
    assert len(rows) == 1
    for mark in kind.marks:
        assert f"`{mark}`" in rows[0]


@pytest.mark.parametrize("kind", kinds.OWNERS, ids=lambda kind: f"{kind.kind}.{kind.group}")
def test_every_watched_owner_is_named(kind):
    assert kind.kind in PAGE


def test_every_foreign_annotation_with_our_meaning_is_named():
    page = PAGE + (Path(__file__).parents[2] / "docs" / "labels.md").read_text()
    for keys in foreign_labels.SAME_AS.values():
        for key in keys:
            assert f"`{key}`" in page

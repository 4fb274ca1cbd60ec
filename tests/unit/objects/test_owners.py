"""The one patch of an owner: preconditions in front, and nothing that was there is lost."""

import pytest
from msgspec.structs import replace

from extender.core.cluster.commands import ChangeOwner
from extender.writers.owners import operations
from shared.kube.parse import decode_job
from tests.fakes import kube_patches
from tests.fakes.builders import make_owner
from tests.fakes.kube_errors import Refusal
from tests.fakes.kube_objects import encoded

OWNER = replace(make_owner("j", resource_version="7"), suspend_field="/spec/suspend")
LIVE = {
    "metadata": {"uid": OWNER.uid, "resourceVersion": "7", "name": "j"},
    "spec": {"parallelism": 4, "completions": 4, "groups": [{"name": "w", "replicas": 4}]},
}
ANNOTATED = {**LIVE, "metadata": {**LIVE["metadata"], "annotations": {"a/b": "1", "c": "2"}}}
WORD = {"shuntyard.io/rescale": "{}"}


def patched(command: ChangeOwner, live=LIVE):
    return kube_patches.apply(live, operations(command), "application/json-patch+json")


def change(owner=OWNER, **fields) -> ChangeOwner:
    return ChangeOwner(owner, owner.namespace, why="", **fields)


def test_annotations_that_are_not_kept_stay_where_ours_are_written() -> None:
    """An owner whose annotations are all of others seems to have none (defect A9)."""
    read = decode_job(encoded(ANNOTATED))
    assert not read.annotations
    found = patched(
        change(replace(OWNER, annotated_by_others=read.annotated_by_others), annotations=WORD),
        ANNOTATED,
    )
    assert found["metadata"]["annotations"] == {"a/b": "1", "c": "2", **WORD}


def test_the_version_that_was_looked_at_is_named() -> None:
    first, second, *_ = operations(change(annotations=WORD))
    assert first == {"op": "test", "path": "/metadata/uid", "value": OWNER.uid}
    assert (second["path"], second["value"]) == ("/metadata/resourceVersion", "7")


def test_another_object_of_that_name_is_not_touched() -> None:
    with pytest.raises(Refusal):
        patched(change(replace(OWNER, uid="another"), annotations=WORD))


def test_numbers_suspension_and_word_go_together() -> None:
    fields = (("/spec/parallelism", 2), ("/spec/completions", 2))
    after = patched(change(fields=fields, suspend=False, annotations=WORD))
    assert (after["spec"]["parallelism"], after["spec"]["completions"]) == (2, 2)
    assert after["spec"]["suspend"] is False
    assert after["metadata"]["annotations"] == WORD


def test_other_annotations_stay() -> None:
    owner = replace(OWNER, annotations={"a/b": "1", "c": "2"})
    after = patched(change(owner, annotations={**WORD, "a/b": None}), ANNOTATED)
    assert after["metadata"]["annotations"] == {**WORD, "c": "2"}


def test_what_is_not_there_is_not_taken_away() -> None:
    after = patched(change(annotations={"a/b": None}))
    assert after["metadata"]["annotations"] == {}


def test_a_key_is_escaped() -> None:
    after = patched(change(annotations={"x/y~z": "1"}))
    assert after["metadata"]["annotations"] == {"x/y~z": "1"}


def test_an_entry_of_a_list_must_still_be_the_one_that_was_meant() -> None:
    fields = (("/spec/groups/0/replicas", 2),)
    good = change(fields=fields, guards=(("/spec/groups/0/name", "w"),))
    assert patched(good)["spec"]["groups"] == [{"name": "w", "replicas": 2}]
    with pytest.raises(Refusal):
        patched(change(fields=fields, guards=(("/spec/groups/0/name", "v"),)))


def test_who_leaves_is_named() -> None:
    named = (("/spec/groups/0/strategy", "gone", ("j-3", "j-2")),)
    after = patched(change(leaving=named))
    assert after["spec"]["groups"][0]["strategy"] == {"gone": ["j-3", "j-2"]}

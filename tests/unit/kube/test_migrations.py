"""Decoding of Migration objects; encoding and decoding together are in tests/conformance."""

import json

import pytest

from shared.kube import migrations
from shared.kube.errors import OddObjectError
from shared.model import MigrationPhase, PodShape

SPEC = {
    "job": "n/job/j",
    "trigger": "count",
    "mover": "evict",
    "members": [{"pod": "p", "uid": "u", "source": "a", "target": "b"}],
}


def decoded(spec=SPEC, **more):
    metadata = {"name": "m", "namespace": "n", "uid": "x"}
    return migrations.decode(json.dumps({"metadata": metadata, "spec": spec, **more}).encode())


def test_a_migration_without_a_status_is_requested():
    one = decoded()
    assert one.phase is MigrationPhase.REQUESTED
    assert one.open
    assert one.key == "n/m"
    assert one.members[0].shape == PodShape()


def test_a_status_of_another_pod_is_ignored():
    one = decoded(status={"phase": "Evicting", "members": [{"uid": "other", "ackedStep": 1}]})
    assert one.members[0].acked_step is None


ODD = {
    "an unknown phase": {"status": {"phase": "Dancing"}},
    "no members": {"spec": {**SPEC, "members": None}},
    "an unknown mover": {"spec": {**SPEC, "mover": "push"}},
    "a stamp that is none": {"status": {"deadline": "soon"}},
}


@pytest.mark.parametrize("more", ODD.values(), ids=ODD)
def test_an_unreadable_field_is_named(more):
    with pytest.raises(OddObjectError) as caught:
        decoded(**{"spec": SPEC, **more})
    assert caught.value.key == "n/m"


def test_a_value_that_is_no_object_is_malformed():
    with pytest.raises(OddObjectError):
        migrations.decode(b"{")

"""Whose status says how far a training is, and of which of its pods it speaks."""

import pytest
from msgspec.structs import replace

from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from shared.model import OwnProgress
from tests.unit.core.kinds.kinds import NAMES, captured

SAID = OwnProgress(percent=45.0, remaining_seconds=60.0, written_at=1000.0)


def told(above: Owners) -> Owners:
    """As it is, but every owner says how far it is: only a TrainJob's word may count."""
    return replace(above, owners=tuple(replace(o, progress=SAID) for o in above.owners))


def spoken(name: str) -> dict[str, OwnProgress | None]:
    found = captured(name)
    adapters = {pod.name: registry.progressing(pod) for pod in found.pods}
    return {
        name: adapter.progress(pod, told(found.above[name])) if adapter else None
        for pod in found.pods
        for name, adapter in [(pod.name, adapters[pod.name])]
    }


@pytest.mark.parametrize("name", ["trainjob", "trainjob-in-coscheduling-group"])
def test_a_train_job_speaks_for_its_nodes(name: str) -> None:
    assert set(spoken(name).values()) == {SAID}


def test_it_does_not_speak_for_what_runs_before_them() -> None:
    for name, progress in spoken("trainjob-with-initializers").items():
        assert progress == (None if "initializer" in name else SAID), name


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("trainjob")])
def test_no_other_kind_says_anything(name: str) -> None:
    assert set(spoken(name).values()) == {None}


def test_a_train_job_that_says_nothing_or_was_not_seen_is_silent() -> None:
    found = captured("trainjob")
    adapter = registry.progressing(found.pods[0])
    assert adapter is not None
    assert adapter.progress(found.pods[0], found.above[found.pods[0].name]) is None
    assert adapter.progress(found.pods[0], Owners()) is None

"""Which status states how far a training is, and of which of its pods."""

import pytest
from msgspec.structs import replace

from extender.core.kinds import registry
from extender.core.kinds.base import Owners
from shared.model import OwnProgress
from tests.unit.core.kinds.kinds import NAMES, captured

STATED = OwnProgress(percent=45.0, remaining_seconds=60.0, written_at=1000.0)


def with_progress(above: Owners) -> Owners:
    """The same, but every owner states a progress: only a TrainJob's may count."""
    return replace(above, owners=tuple(replace(o, progress=STATED) for o in above.owners))


def stated(name: str) -> dict[str, OwnProgress | None]:
    found = captured(name)
    adapters = {pod.name: registry.progressing(pod) for pod in found.pods}
    return {
        name: adapter.progress(pod, with_progress(found.above[name])) if adapter else None
        for pod in found.pods
        for name, adapter in [(pod.name, adapters[pod.name])]
    }


@pytest.mark.parametrize("name", ["trainjob", "trainjob-in-coscheduling-group"])
def test_a_train_job_speaks_for_its_nodes(name: str) -> None:
    assert set(stated(name).values()) == {STATED}


def test_it_does_not_speak_for_what_runs_before_them() -> None:
    for name, progress in stated("trainjob-with-initializers").items():
        assert progress == (None if "initializer" in name else STATED), name


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("trainjob")])
def test_no_other_kind_says_anything(name: str) -> None:
    assert set(stated(name).values()) == {None}


def test_a_train_job_that_says_nothing_or_was_not_seen_is_silent() -> None:
    found = captured("trainjob")
    adapter = registry.progressing(found.pods[0])
    assert adapter is not None
    assert adapter.progress(found.pods[0], found.above[found.pods[0].name]) is None
    assert adapter.progress(found.pods[0], Owners()) is None

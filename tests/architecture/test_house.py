"""The counts that the second house was built for stay at zero (docs/architecture.md)."""

from tests.architecture.house import POD_TO_BINDING, room_cycles, sets_of_reasons
from tests.architecture.sources import ROOT


def test_rooms_of_the_core_have_no_cycle() -> None:
    assert room_cycles() == []


def test_no_file_but_the_record_keeps_a_set_of_reasons() -> None:
    assert sets_of_reasons() == []


def test_the_files_of_the_way_exist() -> None:
    assert [path for path in POD_TO_BINDING if not (ROOT / path).is_file()] == []

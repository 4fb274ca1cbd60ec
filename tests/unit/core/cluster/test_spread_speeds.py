"""What owners state of the cost of spread."""

import re

import pytest

from extender.core.cluster.spread_speeds import FIELD, SpreadSpeed, spread_speeds_of
from shared.errors import InputError


def test_levels_and_speeds_are_read() -> None:
    found = spread_speeds_of("rack=0.8, topology.kubernetes.io/zone = 0.5,nvlink=1")
    assert found == (
        SpreadSpeed("rack", 0.8),
        SpreadSpeed("topology.kubernetes.io/zone", 0.5),
        SpreadSpeed("nvlink", 1.0),
    )


WRONG = {
    "no speed": ("rack", "as rack=0.8"),
    "a speed of 0": ("rack=0.0", "above 0"),
    "a speed above 1": ("rack=1.5", "up to 1"),
    "nothing": ("", "as rack=0.8"),
    "a level twice": ("rack=0.8,rack=0.7", "each level once"),
    "too many levels": (",".join(f"l{i}=0.5" for i in range(9)), "at most 8 levels"),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_used_is_named(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        spread_speeds_of(text)
    assert raised.value.field == FIELD

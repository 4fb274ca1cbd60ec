"""Kubernetes quantities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import quantity
from shared.errors import QuantityError

CASES: dict[str, tuple[str, str, int]] = {
    "milli-CPU is the base unit of cpu": ("cpu", "250m", 250),
    "a whole CPU is a thousand": ("cpu", "2", 2000),
    "half a CPU": ("cpu", "0.5", 500),
    "less than a milli-CPU rounds up": ("cpu", "100u", 1),
    "nano-CPUs as metrics servers print them": ("cpu", "1500000n", 2),
    "cpu with an exponent": ("cpu", "1e-1", 100),
    "bytes": ("memory", "1024", 1024),
    "binary suffix": ("memory", "1.5Gi", 1610612736),
    "decimal suffix": ("memory", "128974848", 128974848),
    "decimal mega": ("memory", "129M", 129_000_000),
    "exponent": ("memory", "129e6", 129_000_000),
    "capital exponent": ("memory", "2E3", 2000),
    "capital E alone is exa": ("ephemeral-storage", "0.001E", 10**15),
    "exbi": ("memory", "0.001953125Ei", 2**51),
    "milli of bytes rounds up": ("memory", "100m", 1),
    "no digit before the point": ("memory", ".5Ki", 512),
    "no digit after the point": ("memory", "5.Ki", 5120),
    "extended resources are pieces": ("nvidia.com/gpu", "8", 8),
    "a plus sign": ("cpu", "+1", 1000),
    "nothing": ("cpu", "0", 0),
    "as much as the API server lets pods ask for": ("cpu", "9223372036854775807", 2**53),
    "beyond what anybody has": ("memory", "1e40", 2**53),
    "negative rounds towards zero from below": ("memory", "-1500m", -1),
}
BAD = {
    "empty": "",
    "word": "lots",
    "blank inside": "1 Gi",
    "unknown suffix": "1Kb",
    "two suffixes": "1kM",
    "small k with i": "1ki",
    "only a suffix": "Gi",
    "only a point": ".",
    "trailing newline": "1\n",
    "an exponent that fills the memory": "1e999999999",
    "endless digits": "9" * 65,
}


@pytest.mark.parametrize(("resource", "text", "want"), CASES.values(), ids=CASES)
def test_a_quantity_becomes_whole_base_units(resource: str, text: str, want: int) -> None:
    assert quantity.base_units(resource, text) == want


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_bad_quantity_is_refused_with_the_field_and_an_example(text: str) -> None:
    with pytest.raises(QuantityError, match="requests of cpu") as caught:
        quantity.base_units("cpu", text, field="requests of cpu")
    assert caught.value.value == text
    assert "500m" in caught.value.expected


@given(st.integers(0, 10**15))
def test_milli_and_plain_notation_agree(millis: int) -> None:
    assert quantity.base_units("cpu", f"{millis}m") == millis
    assert quantity.parse(f"{millis}m") * 1000 == millis


@given(
    st.decimals(0, 10**6, places=6, allow_nan=False),
    st.sampled_from(["", "k", "Mi", "Gi", "m", "u"]),
)
def test_rounding_never_loses_and_never_adds_a_whole_unit(number, suffix: str) -> None:
    text = f"{number:f}{suffix}"
    exact, rounded = quantity.parse(text), quantity.base_units("memory", text)
    assert exact <= rounded < exact + 1

"""What the extender accepts as a heartbeat is what the structs of the wire accept."""

import json
from typing import Any

import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from extender.servers.agents.bodies import HEARTBEAT
from extender.servers.agents.schema import read_heartbeat
from shared import wire
from tests.unit.test_wire import BEAT, POD, WRONG


def test_every_field_of_a_heartbeat_is_checked() -> None:
    assert list(HEARTBEAT.model_fields) == [f.name for f in msgspec.structs.fields(wire.Heartbeat)]


def test_a_heartbeat_is_read_as_it_was_sent() -> None:
    text = json.dumps(BEAT).encode()
    assert read_heartbeat(text) == wire.decode(wire.Heartbeat, text)


@pytest.mark.parametrize(("change", "field"), WRONG.values(), ids=WRONG)
def test_a_wrong_field_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(web.HTTPBadRequest) as caught:
        read_heartbeat(json.dumps(BEAT | change).encode())
    assert (caught.value.text or "").startswith(f"{field.replace('[', '.').replace(']', '')}: ")


NUMBERS = st.one_of(
    st.none(), st.integers(-1, 2), st.sampled_from([2**63 - 1, 2**63, 0.5, 1.5, -0.5, 1e308])
)
PLACES = {
    "step": ("progress", "step"),
    "value": ("progress", "value"),
    "attempt": ("progress", "attempt"),
    "a time": ("progress", "updated_at"),
    "a ratio": ("use", "gpu_ratio"),
    "bytes": ("use", "memory_bytes"),
    "saved": ("checkpoint", "saved_at"),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@given(number=NUMBERS)
def test_both_accept_the_same_numbers(place: tuple[str, str], number: float | None) -> None:
    section, field = place
    pod = {**POD, section: {**POD[section], field: number}}
    text = json.dumps({**BEAT, "pods": [pod]}).encode()
    try:
        sent = wire.decode(wire.Heartbeat, text)
    except msgspec.ValidationError:
        with pytest.raises(web.HTTPBadRequest):
            read_heartbeat(text)
    else:
        assert read_heartbeat(text) == sent

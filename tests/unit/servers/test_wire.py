"""What a real kube-scheduler sent (tests/golden/wire/record.py) is understood and answered."""

import json
from pathlib import Path

import pytest

from extender.core.scheduler.binding import CallError
from extender.core.scheduler.filtering import FilterVerdict
from extender.servers.scheduler import schema
from tests.fakes.ports import REFUSED

CASES = sorted((Path(__file__).parents[2] / "golden" / "wire").glob("*.input.json"))


def answer(verb: str, body: bytes) -> bytes:
    """The first offered node passes, the second is refused, the third beyond help."""
    if verb == "bind":
        return schema.write_binding(CallError(schema.read_binding(body).node))
    offer = schema.read_offer(body)
    if verb == "prioritize":
        return schema.write_scores(offer, [(name, 10) for name in offer.names])
    first, second, third = offer.names
    verdict = FilterVerdict((first,), failed={second: REFUSED}, unresolvable={third: REFUSED})
    return schema.write_verdict(offer, verdict)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.split(".")[0])
def test_the_real_clients_call_is_answered_as_recorded(path: Path, update_golden: bool) -> None:
    got = answer(path.name.split("-")[0], path.read_bytes())
    want = path.with_name(path.name.replace(".input.", ".output."))
    if update_golden:
        want.write_text(json.dumps(json.loads(got), indent=2) + "\n")
    assert json.loads(got) == json.loads(want.read_text())


def test_every_verb_was_recorded_in_every_mode() -> None:
    names = {path.name.split(".")[0] for path in CASES}
    two = {f"{verb}-{mode}" for verb in ("filter", "prioritize") for mode in ("names", "nodes")}
    assert names == two | {"bind-pod"}


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
def test_both_modes_offer_the_same_pod_and_nodes(verb: str) -> None:
    bodies = [p.read_bytes() for p in CASES if p.name.startswith(verb)]
    names, nodes = (schema.read_offer(body) for body in bodies)
    assert names.pod == nodes.pod
    assert sorted(names.names) == sorted(nodes.names) == ["kwok-0000", "kwok-0001", "kwok-0002"]
    assert (names.listed is None, nodes.listed is None) == (True, False)

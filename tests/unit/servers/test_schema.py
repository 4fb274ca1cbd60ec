"""The extender's JSON: spelling, nulls, both forms, nothing invented."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.scheduler.binding import CallError
from extender.core.scheduler.filtering import FilterVerdict
from extender.servers.scheduler import schema
from shared.errors import InputError
from shared.kube import parse

POD = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"schedulerName": "s"}}
NODE = b'{"metadata": {"name":"a" , "labels":{}}, "status":  {"x": 1.0}}'

NAMES = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=8)

OFFERS: dict[str, tuple[dict[str, Any], tuple[str, ...], bool]] = {
    "names, nodes null": ({"Nodes": None, "NodeNames": ["a", "b"]}, ("a", "b"), False),
    "names, nodes absent": ({"NodeNames": ["a"]}, ("a",), False),
    "no names": ({"Nodes": None, "NodeNames": []}, (), False),
    "both null": ({"Nodes": None, "NodeNames": None}, (), False),
    "nodes, names null": (
        {"Nodes": {"items": [{"metadata": {"name": "a"}}]}, "NodeNames": None},
        ("a",),
        True,
    ),
    "nodes without items": ({"Nodes": {"metadata": {}, "items": None}}, (), True),
    "names win": ({"Nodes": {"items": []}, "NodeNames": ["a"]}, ("a",), False),
    "unknown keys": ({"NodeNames": ["a"], "Later": 1}, ("a",), False),
}


@pytest.mark.parametrize(("fields", "names", "listed"), OFFERS.values(), ids=OFFERS.keys())
def test_offers_are_read_with_nulls_and_in_both_forms(
    fields: dict[str, Any], names: tuple[str, ...], listed: bool
) -> None:
    offer = schema.read_offer(json.dumps({"Pod": POD, **fields}).encode())
    assert offer.names == names
    assert (offer.listed is not None) == listed
    assert offer.pod == parse.decode_pod(json.dumps(POD).encode())


SPELLINGS = {"Go": str, "lower case": str.lower, "camel": lambda key: key[0].lower() + key[1:]}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_keys_are_read_without_regard_to_case(spell: Any) -> None:
    body = json.dumps({spell("Pod"): POD, spell("NodeNames"): ["a"]}).encode()
    assert schema.read_offer(body).names == ("a",)
    args = {"PodName": "p", "PodNamespace": "n", "PodUID": "u", "Node": "a"}
    body = json.dumps({spell(key): value for key, value in args.items()}).encode()
    assert schema.read_binding(body) == schema.ExtenderBindingArgs("p", "n", "u", "a")


def test_kept_nodes_are_the_very_bytes_that_came() -> None:
    other = NODE.replace(b'"a"', b'"b"')
    nodes = b'{"metadata": {"resourceVersion": ""}, "items": [' + NODE + b", " + other + b"]}"
    body = b'{"Pod": ' + json.dumps(POD).encode() + b', "Nodes": ' + nodes + b"}"
    answer = schema.write_verdict(schema.read_offer(body), FilterVerdict(passed=("b",)))
    assert other in answer
    assert NODE not in answer
    assert b'"metadata":{"resourceVersion": ""}' in answer


def test_a_list_of_nodes_is_answered_with_a_list_even_if_none_is_left() -> None:
    body = {"Pod": POD, "Nodes": {"items": [{"metadata": {"name": "a"}}]}}
    offer = schema.read_offer(json.dumps(body).encode())
    answer = json.loads(schema.write_verdict(offer, FilterVerdict(error=CallError("no"))))
    assert (answer["Nodes"]["items"], answer["NodeNames"], answer["Error"]) == ([], None, "no")


@given(offered=NAMES, passed=NAMES, failed=NAMES)
def test_an_answer_names_only_what_was_offered(
    offered: list[str], passed: list[str], failed: list[str]
) -> None:
    offer = schema.Offer(parse.decode_pod(json.dumps(POD).encode()), tuple(offered))
    refused = dict.fromkeys(failed, "text")
    verdict = FilterVerdict(tuple(passed), failed=refused, unresolvable=refused)
    answer = msgspec.json.decode(schema.write_verdict(offer, verdict))
    assert answer["NodeNames"] == [name for name in offered if name in passed]
    assert set(answer["FailedNodes"]) == set(failed) & set(offered)
    assert set(answer["FailedAndUnresolvableNodes"]) == set(failed) & set(offered)
    scores = msgspec.json.decode(schema.write_scores(offer, [(name, 1) for name in passed]))
    assert {entry["Host"] for entry in scores} == set(passed) & set(offered)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused_with_a_text(body: bytes) -> None:
    for read in (schema.read_offer, schema.read_binding):
        with pytest.raises(InputError) as caught:
            read(body)
        assert caught.value.field


def test_a_long_body_is_not_repeated_in_the_error() -> None:
    with pytest.raises(InputError) as caught:
        schema.read_binding(b'"' + b"x" * 10_000)
    assert len(str(caught.value)) < 300


@given(names=st.lists(st.text(max_size=8), unique=True, max_size=8), message=st.text())
def test_one_message_for_every_node_is_a_map_from_each_name_to_it(names, message) -> None:
    offer = schema.Offer(parse.decode_pod(msgspec.json.encode(POD)), tuple(names))
    verdict = FilterVerdict(nowhere=message or "no")
    found = json.loads(schema.write_verdict(offer, verdict))
    assert found["FailedAndUnresolvableNodes"] == dict.fromkeys(names, verdict.nowhere)
    assert found["NodeNames"] == []

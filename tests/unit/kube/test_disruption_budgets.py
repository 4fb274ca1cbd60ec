"""The budget that forbids to end several pods at once."""

import json

import pytest

from shared.kube.disruption_budgets import blocking
from shared.kube.errors import BrokenAnswerError

PODS = [{"app": "x", "i": "0"}, {"app": "x", "i": "1"}, {"app": "y"}]


def budgets(*found):
    items = [
        {
            "metadata": {"name": f"b{i}"},
            "spec": {"selector": selector},
            "status": {"disruptionsAllowed": allowed},
        }
        for i, (selector, allowed) in enumerate(found)
    ]
    return json.dumps({"items": items}).encode()


def line(operator, *values, key="app"):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


X = {"matchLabels": {"app": "x"}}
CASES = {
    "no budget": ([], None),
    "enough for all it covers": ([(X, 2)], None),
    "one too few": ([(X, 1)], "b0"),
    "one that covers no pod": ([({"matchLabels": {"app": "z"}}, 0)], None),
    "the second of two": ([(X, 2), ({"matchLabels": {"app": "y"}}, 0)], "b1"),
    "an empty selector covers all": ([({}, 2)], "b0"),
    "a missing selector covers no pod": ([(None, 0)], None),
    "in": ([(line("In", "x", "z"), 1)], "b0"),
    "not in covers pods without the label too": ([(line("NotIn", "x"), 0)], "b0"),
    "exists": ([(line("Exists", key="i"), 1)], "b0"),
    "does not exist": ([(line("DoesNotExist", key="i"), 0)], "b0"),
    "both kinds of lines": ([({**X, **line("In", "0", key="i")}, 0)], "b0"),
}


@pytest.mark.parametrize(("found", "name"), CASES.values(), ids=CASES)
def test_a_budget_forbids(found, name):
    assert blocking(budgets(*found), PODS) == name


def test_a_budget_without_a_current_status_allows_nothing():
    raw = {"items": [{"metadata": {"name": "b"}, "spec": {"selector": X}}]}
    assert blocking(json.dumps(raw).encode(), PODS) == "b"


def test_a_proxys_page_is_an_error():
    with pytest.raises(BrokenAnswerError):
        blocking(b"<html>", PODS)

"""User priorities, good and bad."""

import pytest

from extender.engine import ordering
from shared import labels
from tests.fakes.builders import make_namespace, make_quota
from tests.unit.engine.clusters import snapshot_of


def noted(text):
    return {labels.USER_PRIORITY: text}


CASES = {
    "nobody says": ([], 5, ""),
    "the namespace says": ([make_namespace(annotations=noted("9"))], 9, ""),
    "a quota says": ([make_quota(annotations=noted("2"))], 2, ""),
    "the namespace wins": (
        [make_namespace(annotations=noted("3")), make_quota(annotations=noted("9"))],
        3,
        "",
    ),
    "the largest quota counts": (
        [make_quota("a", annotations=noted("2")), make_quota("b", annotations=noted("7"))],
        7,
        "",
    ),
    "eleven is too many": ([make_namespace(annotations=noted("11"))], 5, "'11'"),
    "a word is no number": ([make_quota(annotations=noted("high"))], 5, "'high'"),
}


@pytest.mark.parametrize(("entities", "want", "complaint"), CASES.values(), ids=CASES.keys())
def test_user_priority_is_read_and_a_bad_one_is_named(entities, want, complaint):
    found, problem = ordering.user_priority("default", snapshot_of(*entities), 5)
    assert found == want
    assert complaint in problem
    if complaint:
        assert "annotation shuntyard.io/user-priority of namespace default" in problem
        assert "an integer from 1 to 10" in problem
    else:
        assert not problem

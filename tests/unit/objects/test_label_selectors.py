"""What a label selector selects, and how large one may be (defect A1)."""

import pytest

from shared.objects.label_selectors import (
    MOST_LINES,
    MOST_VALUES,
    NOTHING,
    LabelSelector,
    Line,
    select_label,
)

LABELS = {"app": "db", "tier": "gold"}
CASES = {
    "an empty one matches everything": (LabelSelector(), True),
    "a label of that value": (LabelSelector(match_labels={"app": "db"}), True),
    "a label of another value": (LabelSelector(match_labels={"app": "web"}), False),
    "a label that is not there": (LabelSelector(match_labels={"zone": "a"}), False),
    "In": (LabelSelector(match_expressions=(Line("app", "In", ("web", "db")),)), True),
    "In without the value": (
        LabelSelector(match_expressions=(Line("app", "In", ("web",)),)),
        False,
    ),
    "NotIn": (LabelSelector(match_expressions=(Line("app", "NotIn", ("db",)),)), False),
    "NotIn of a missing label": (
        LabelSelector(match_expressions=(Line("z", "NotIn", ("a",)),)),
        True,
    ),
    "Exists": (LabelSelector(match_expressions=(Line("tier", "Exists"),)), True),
    "DoesNotExist": (LabelSelector(match_expressions=(Line("tier", "DoesNotExist"),)), False),
    "an unknown operator": (LabelSelector(match_expressions=(Line("app", "Gt"),)), False),
    "both must match": (
        LabelSelector(match_labels={"app": "db"}, match_expressions=(Line("z", "Exists"),)),
        False,
    ),
    "a name": (select_label("app", "db"), True),
    "another name": (select_label("app", "web"), False),
    "what matches nothing": (NOTHING, False),
}


@pytest.mark.parametrize(("selector", "want"), CASES.values(), ids=CASES)
def test_a_selector_matches_as_the_server_says(selector: LabelSelector, want: bool) -> None:
    assert selector.matches(LABELS) is want


def test_a_large_selector_is_not_small() -> None:
    lines = tuple(Line(f"l{i}", "Exists") for i in range(MOST_LINES + 1))
    values = tuple(map(str, range(MOST_VALUES + 1)))
    assert LabelSelector(match_expressions=lines[1:]).small
    assert not LabelSelector(match_expressions=lines).small
    assert not LabelSelector(match_expressions=(Line("l", "In", values),)).small
    assert not LabelSelector(match_labels={one.key: "" for one in lines}).small

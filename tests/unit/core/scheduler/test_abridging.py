"""The decision log keeps answers about many nodes in fewer names."""

from hypothesis import given
from hypothesis import strategies as st

from extender.core.scheduler import requests
from extender.core.scheduler.filtering import FilterVerdict

EVERY = {f"node-{i:04}": i for i in range(200)}
NODES = st.lists(st.sampled_from([*EVERY, "elsewhere"]), max_size=250)


def test_all_nodes_but_two_are_abridged_to_the_two():
    names = [name for name in reversed(EVERY) if name not in {"node-0007", "node-0100"}]
    assert requests.abridged(names, EVERY) == ("*", "node-0007", "node-0100")


def test_few_nodes_are_named_in_order():
    assert requests.abridged(["node-0002", "node-0001"], EVERY) == ("node-0001", "node-0002")


@given(NODES)
def test_names_are_restored_in_another_order(names):
    short = requests.abridged(names, EVERY)
    assert sorted(requests.in_full(short, EVERY)) == sorted(names)
    assert len(short) <= max(len(names), 1)


@given(NODES, st.randoms())
def test_the_order_of_offered_nodes_has_no_effect(names, dice):
    shuffled = names.copy()
    dice.shuffle(shuffled)
    assert requests.abridged(shuffled, EVERY) == requests.abridged(names, EVERY)
    scores, others = ([(n, len(n) % 3) for n in order] for order in (names, shuffled))
    assert requests.abridged_scores(scores) == requests.abridged_scores(others)


def test_a_verdict_lists_failed_nodes_by_message():
    offered = ("node-0000", "node-0001")
    verdict = FilterVerdict(("node-0001",), failed={"node-0000": "full"})
    abridged = requests.abridged_verdict(verdict, EVERY, offered, len(offered))
    assert abridged == {"passed": ("node-0001",), "failed": {"full": ("node-0000",)}}


def test_of_many_scores_the_commonest_is_written_once():
    scores = [(name, 4 if i else 9) for i, name in enumerate(EVERY)]
    assert requests.abridged_scores(scores) == {"*": 4, "9": ["node-0000"]}


def test_few_scores_are_all_named():
    assert requests.abridged_scores([("b", 1), ("a", 1), ("c", 0)]) == {"0": ["c"], "1": ["a", "b"]}

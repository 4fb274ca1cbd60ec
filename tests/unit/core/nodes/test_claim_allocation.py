"""The search for the devices of claims is bounded, and nodes that are alike share its result."""

from fractions import Fraction

import pytest

from extender.core.expressions.errors import UnsupportedError
from extender.core.nodes import claim_allocation, device_sets
from extender.core.nodes.claim_allocation import ClaimOnNode, Offer, Rule, Stock, Taken, serve
from extender.core.nodes.device_sets import Seen


def claim(devices: int, count: int, *, rule: Rule | None = None) -> ClaimOnNode:
    """Return a claim of so many of the devices of a node."""
    offer = Offer("", tuple(range(devices)), ((),) * devices, count)
    stock = Stock(takes=((),) * devices, counters=(), capacity=(None,) * devices)
    return ClaimOnNode((("r", (offer,)),), () if rule is None else (rule,), stock)


def test_a_search_among_very_many_combinations_ends() -> None:
    """Of 30 devices on two switches no 16 are on one."""
    alternating = Rule(frozenset(), distinct=False, values=tuple(i % 2 for i in range(30)))
    with pytest.raises(UnsupportedError, match="more than 4096 steps"):
        serve(claim(30, 16, rule=alternating), Taken(), 1)


def test_many_devices_are_few_steps() -> None:
    assert serve(claim(128, 1), Taken(), 256)[0] == 128


def test_the_steps_of_all_claims_of_a_node_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_allocation, "MOST_STEPS", 3)
    assert serve(claim(3, 1), Taken(), 3)[0] == 3
    with pytest.raises(UnsupportedError):
        serve(claim(4, 1), Taken(), 4)


def test_nodes_that_are_alike_share_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = list[ClaimOnNode]()

    def counted(found: ClaimOnNode, taken: Taken, most: int) -> tuple[int, Taken]:
        searches.append(found)
        return serve(found, taken, most)

    monkeypatch.setattr(device_sets, "serve", counted)
    monkeypatch.setattr(device_sets, "MOST_KEPT", 2)
    seen = Seen()
    assert [seen.most(claim(4, 2)) for _ in range(3)] == [2, 2, 2]
    assert len(searches) == 1
    for devices in range(1, 9):
        seen.most(claim(devices, 1))
        assert len(seen._most) <= 2


def test_a_share_of_a_device_takes_its_counters_once() -> None:
    """Two shares of one device, then its partition is gone for the other device."""
    stock = Stock(
        takes=(((0, Fraction(2)),), ((0, Fraction(1)),)),
        counters=(Fraction(2),),
        capacity=((("memory", Fraction(4)),), None),
    )
    use = (("memory", Fraction(2)),)
    offer = Offer("", (0, 1), (use, ()), 1)
    found = ClaimOnNode((("r", (offer,)),), (), stock)
    served, taken = serve(found, Taken(), 5)
    assert served == 2
    assert taken == Taken(frozenset(), ((0, (("memory", Fraction(4)),)),))


def test_admin_access_takes_no_part_of_a_shared_device() -> None:
    use = (("memory", Fraction(2)),)
    stock = Stock(takes=((),), counters=(), capacity=((("memory", Fraction(2)),),))
    watching = Offer("", (0,), (use,), 1, admin=True)
    found = ClaimOnNode((("r", (watching,)),), (), stock)
    assert serve(found, Taken(), 3) == (3, Taken())

"""Prices in the read API: the present ones by node, and those of slots by promises."""

import math
from dataclasses import replace

import pytest

from extender.core import explain
from extender.core.cluster.session import Reading, Session
from extender.core.cluster.utility import Steps
from extender.core.parameters.combined import CoreParameters
from extender.core.pricing import admission
from extender.core.pricing.outcome import PriceLedger
from tests.fakes.builders import make_node
from tests.unit.core.clusters import released_job, snapshot_of
from tests.unit.core.policies.slot_worlds import make_bounds, make_cluster, make_job

PARAMS = CoreParameters()
NODES = [make_node("a", cpu="4"), make_node("b", cpu="4", allocatable={"nvidia.com/gpu": "2"})]


def present_prices(*jobs):
    session = Session(snapshot_of(NODES, *jobs), Reading(1.0, 1.0), PARAMS)
    return explain.prices(session, acting=True)


def test_an_idle_resource_costs_0_and_a_node_without_it_has_no_price():
    a, b = present_prices().nodes
    assert (set(a.prices.values()), a.times_idle) == ({0.0}, 1.0)
    assert ("nvidia.com/gpu" in a.prices, "nvidia.com/gpu" in b.prices) == (False, True)


def test_the_dearest_resource_is_named_with_its_price_as_a_multiple_of_the_idle_one():
    a, b = present_prices(released_job("j", ["a", "a"])).nodes
    assert a.prices["cpu"] == pytest.approx(0.5)
    assert (a.dearest, a.times_idle) == ("cpu", pytest.approx(math.sqrt(PARAMS.pricing.kappa)))
    assert b.times_idle == 1.0


def book(workers, *values):
    """Build the ledger of jobs that each take one worker in slot 1, on the cheapest machine."""
    state = admission.empty_state(make_cluster(workers, [[4.0]], 2), make_bounds(1.0, 16.0))
    for i, value in enumerate(values):
        job = make_job(f"j{i}", worker_bandwidth=0.0, utility=Steps(((0.0, value),)))
        state.accept(job, admission.offer(job, state, PARAMS.admission))
    names = tuple(f"n{i}" for i in range(len(workers)))
    return PriceLedger(state, names, names, ("cpu",), (1000.0,), first=7)


def test_nodes_with_the_same_prices_share_a_row():
    prices = explain.slot_prices(book([[4.0], [4.0], [4.0]], 90.0), PARAMS)
    assert (prices.first, prices.slots, prices.slot_seconds) == (
        7,
        2,
        PARAMS.slot_time.slot_seconds,
    )
    assert [(row.nodes, row.prices["cpu"]) for row in prices.rows] == [
        (("n0",), (0.25, 0.0)),
        (("n1", "n2"), (0.0, 0.0)),
    ]


def test_a_full_slot_costs_1_and_the_scale_has_the_logarithms_of_0_and_1():
    prices = explain.slot_prices(book([[2.0]], 90.0, 90.0), PARAMS)
    assert prices.rows[0].prices["cpu"] == (1.0, 0.0)
    assert (prices.scales["cpu"].log_low, prices.scales["cpu"].log_high) == (
        0.0,
        pytest.approx(math.log(16.0), abs=1e-4),
    )


def test_a_machine_without_the_resource_has_no_price_for_it():
    prices = explain.slot_prices(book([[0.0], [4.0]]), PARAMS)
    assert [(row.nodes, row.prices) for row in prices.rows] == [
        (("n0",), {}),
        (("n1",), {"cpu": (0.0, 0.0)}),
    ]


def test_machines_of_parameter_servers_have_rows_and_a_scale_of_their_own():
    ledger = replace(book([[4.0]], 90.0), server_nodes=("ps",))
    prices = explain.slot_prices(ledger, PARAMS)
    assert [row.nodes for row in prices.rows] == [("n0",), ("ps",)]
    assert prices.server_scales.keys() == prices.scales.keys() == {"cpu"}
    assert explain.slot_prices(book([[4.0]]), PARAMS).server_scales == {}

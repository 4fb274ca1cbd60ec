"""The training operator and DRAGON as their code acts."""

import pytest

from simulator.baselines.dragon import Dragon, DragonParameters, TfOperator
from simulator.models.parameter_server import Site
from tests.unit.simulator.test_parameter_server import job


def site_of(free, *waiting):
    site = Site({f"n{i + 1}": (cpu, 1000) for i, cpu in enumerate(free)})
    site.waiting += waiting
    return site


def running(site):
    return {name: (t.servers, tuple(t.workers)) for name, t in site.running.items()}


def test_the_operator_spreads_pod_by_pod():
    site = site_of([4000, 4000], job(wanted=3))
    TfOperator().act(site, 0.0)
    assert running(site) == {"a": (("n1",), ("n2", "n1", "n2"))}


def test_the_operator_binds_a_part_of_a_job_and_starts_it_later():
    site = site_of([4000], job(wanted=2), job("b", wanted=2))
    operator = TfOperator()
    operator.act(site, 0.0)
    assert list(running(site)) == ["a"]
    assert site.free["n1"][0] == 0
    site.end("a")
    operator.act(site, 1.0)
    assert running(site) == {"b": (("n1",), ("n1", "n1"))}


# free CPU of the nodes, job, nodes of its pods
PLACEMENTS = {
    "the first node that holds all": ([2000, 3000, 3000], job(), (("n2",), ("n2", "n2"))),
    "node by node, the server with most workers": (
        [2000, 3000],
        job(wanted=4),
        (("n2",), ("n1", "n1", "n2", "n2")),
    ),
    "with fewer, if not with all": ([2000, 0], job(wanted=4), (("n1",), ("n1",))),
}


@pytest.mark.parametrize(("free", "one", "nodes"), PLACEMENTS.values(), ids=PLACEMENTS.keys())
def test_dragon_places(free, one, nodes):
    site = site_of(free, one)
    Dragon().act(site, 0.0)
    result = running(site)
    assert result == ({"a": nodes} if nodes else {})


def test_dragon_starts_one_job_a_sync():
    site = site_of([8000], job(), job("b", at=0.0))
    dragon = Dragon()
    dragon.act(site, 0.0)
    assert list(running(site)) == ["a"]
    dragon.act(site, 1.0)
    assert list(running(site)) == ["a", "b"]


def test_dragon_grows_after_a_quiet_minute_beside_the_server_alone():
    site = site_of([4000, 4000], job(most=6))
    dragon = Dragon()
    dragon.act(site, 0.0)
    dragon.act(site, 60.0)
    assert running(site)["a"][1] == ("n1", "n1")
    dragon.act(site, 61.0)
    assert running(site)["a"][1] == ("n1", "n1", "n1")


def test_dragon_without_these_two_grows_at_once_and_everywhere():
    site = site_of([4000, 4000], job(most=6))
    dragon = Dragon(DragonParameters(quiet_seconds=0.0, leaves_server=True))
    dragon.act(site, 0.0)
    dragon.act(site, 15.0)
    assert sorted(running(site)["a"][1]) == ["n1", "n1", "n1", "n2", "n2", "n2"]


@pytest.mark.parametrize(("in_turns", "workers"), [(True, (4, 4)), (False, (6, 2))])
def test_dragon_grows_in_turns_or_job_by_job(in_turns, workers):
    site = site_of([10000], job(most=6), job("b", most=6))
    dragon = Dragon(DragonParameters(in_turns=in_turns))
    for now in (0.0, 1.0, 100.0):
        dragon.act(site, now)
    assert tuple(len(t.workers) for t in site.running.values()) == workers


def test_dragon_helps_a_job_that_has_waited_two_minutes():
    site = site_of([4000], job(wanted=3, least=1))
    dragon = Dragon()
    dragon.act(site, 0.0)
    site.waiting.append(job("b", wanted=2, least=1))
    dragon.act(site, 119.0)
    assert len(running(site)["a"][1]) == 3
    dragon.act(site, 120.0)
    assert len(running(site)["a"][1]) == 2
    assert list(running(site)) == ["a"]


def test_dragon_does_not_help_where_too_little_can_be_given():
    site = site_of([4000], job(wanted=3, least=2))
    dragon = Dragon()
    dragon.act(site, 0.0)
    site.waiting.append(job("b", wanted=2, least=2))
    dragon.act(site, 120.0)
    assert len(running(site)["a"][1]) == 3

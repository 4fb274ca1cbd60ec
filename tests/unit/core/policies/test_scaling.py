"""Jobs that start, shrink and grow."""

import pytest

from extender.core.elastic.scaling_values import Elastic, Why
from extender.core.queue.weighting import Weight
from shared.model import JobKey, Uid
from tests.unit.core.policies.elastic_yard import Yard, plan_text
from tests.unit.core.policies.rooms import make_shape

PLAIN = {"marginal_gain": False, "start_with_fewer": False, "starvation_seconds": None}
LINEAR = {"step": [10.0, 0.0], "mode": "linear"}
TIPPING = {"step": [10.0, 0.0, 0.0, 2.5]}
"""Steps of 12.5, 10, 10.83 s with 1, 2, 3 workers."""


def runs(job, at, **row):
    return {"job": job, "cpu": 1000, "at": at.split(), **row}


def waits(job, wanted, **row):
    return {"job": job, "cpu": 1000, "wanted": wanted, **row}


# nodes, running, waiting, parameters, what is done
CASES = {
    "nothing to do": ({"n1": 4000}, [runs("a", "n1")], [], PLAIN, ""),
    "a job that fits starts": ({"n1": 4000}, [], [waits("a", 2)], PLAIN, "+a(2)"),
    "all that fit start, the most important first": (
        {"n1": 4000},
        [],
        [waits("a", 2), waits("b", 2, utility=2), waits("c", 2)],
        PLAIN,
        "+b(2) +a(2)",
    ),
    "a smaller one passes a job that does not fit": (
        {"n1": 2000},
        [],
        [waits("a", 3, utility=2), waits("b", 1)],
        PLAIN,
        "+b(1)",
    ),
    "if a job starts, no job grows in the same plan": (
        {"n1": 4000},
        [runs("a", "n1", most=4)],
        [waits("b", 1)],
        PLAIN,
        "+b(1)",
    ),
    "the more important takes workers": (
        {"n1": 4000},
        [runs("a", "n1 n1 n1")],
        [waits("b", 2, utility=2)],
        PLAIN,
        "a:n1> +b(2)",
    ),
    "never below the least": (
        {"n1": 4000},
        [runs("a", "n1 n1 n1", least=3)],
        [waits("b", 2, utility=2)],
        PLAIN,
        "",
    ),
    "all or nothing: one worker would not be enough": (
        {"n1": 4000},
        [runs("a", "n1 n1 n1", least=2)],
        [waits("b", 3, utility=2)],
        PLAIN,
        "",
    ),
    "an equal one takes none": (
        {"n1": 4000},
        [runs("a", "n1 n1 n1")],
        [waits("b", 2)],
        PLAIN,
        "",
    ),
    "nor one that is less important than any other": (
        {"n1": 6000},
        [runs("a", "n1 n1 n1"), runs("c", "n1", utility=3)],
        [waits("b", 3, utility=2)],
        PLAIN,
        "",
    ),
    "in turns, the least important first": (
        {"n1": 6000},
        [runs("a", "n1 n1 n1", utility=2), runs("b", "n1 n1 n1")],
        [waits("c", 3, utility=3)],
        PLAIN,
        "b:n1> a:n1> b:n1> +c(3)",
    ),
    "workers go in the order that their owner states": (
        {"n1": 3000, "n2": 3000},
        [runs("a", "n2 n1 n1 n2", server="n2")],
        [waits("b", 2, utility=2, server=True)],
        PLAIN,
        "a:n2> a:n1> +b(2)",
    ),
    "with a free choice on the node where least is missing": (
        {"n1": 3000, "n2": 3000},
        [runs("a", "n2 n1 n1", server="n2", any_worker=True)],
        [waits("b", 3, utility=2)],
        PLAIN,
        "a:n1> +b(3)",
    ),
    "workers of a job come back in reverse order of leaving": (
        {"n1": 3000, "n2": 3000},
        [runs("a", "n1 n2 n2 n2 n1 n1")],
        [{"job": "b", "cpu": 2000, "wanted": 1, "utility": 2}],
        PLAIN,
        "a:n1> a:n2> a:n2> +b(1)",
    ),
    "where the choice is free they do": (
        {"n1": 3000, "n2": 3000},
        [runs("a", "n1 n2 n2 n2 n1 n1", any_worker=True)],
        [{"job": "b", "cpu": 2000, "wanted": 1, "utility": 2}],
        PLAIN,
        "a:n1> a:n1> +b(1)",
    ),
    "a job that has waited long takes workers from anybody": (
        {"n1": 4000},
        [runs("a", "n1 n1 n1 n1", utility=5)],
        [waits("b", 2, waited=60)],
        {**PLAIN, "starvation_seconds": 60},
        "a:n1> a:n1> +b(2)",
    ),
    "not before its time": (
        {"n1": 4000},
        [runs("a", "n1 n1 n1 n1", utility=5)],
        [waits("b", 2, waited=59)],
        {**PLAIN, "starvation_seconds": 60},
        "",
    ),
    "a job starts with fewer": (
        {"n1": 4000},
        [],
        [waits("a", 6, least=2)],
        {**PLAIN, "start_with_fewer": True},
        "+a(4)",
    ),
    "growing in turns up to the most": (
        {"n1": 8000},
        [runs("a", "n1", most=3), runs("b", "n1", most=9, utility=2)],
        [],
        PLAIN,
        ">n1:b >n1:a >n1:b >n1:a >n1:b >n1:b",
    ),
    "on the node of its server first, then where its workers are": (
        {"n1": 2000, "n2": 3000, "n3": 4000},
        [runs("a", "n2", server="n3", most=6)],
        [],
        PLAIN,
        ">n3:a >n3:a >n3:a >n2:a >n2:a",
    ),
    "a job that does not fit stops no other": (
        {"n1": 3500},
        [
            {"job": "a", "cpu": 1500, "at": ["n1"], "most": 2, "utility": 2},
            runs("b", "n1", most=2),
        ],
        [],
        PLAIN,
        ">n1:b",
    ),
    "by gain: the job that saves more time gets more": (
        {"n1": 4000},
        [
            runs("a", "n1", most=4, speed=LINEAR, left=10.0),
            runs("b", "n1", most=4, speed=LINEAR, left=100.0),
        ],
        [],
        {},
        ">n1:b >n1:b",
    ),
    "by gain: not past the tipping point": (
        {"n1": 8000},
        [runs("a", "n1", most=8, speed=TIPPING, left=100.0)],
        [],
        {},
        ">n1:a",
    ),
    "by gain: not for less than two pauses": (
        {"n1": 8000},
        [runs("a", "n1", most=8, speed=TIPPING, left=4.0)],
        [],
        {},
        "",
    ),
    "workers that slow a job leave": (
        {"n1": 8000},
        [runs("a", "n1 n1 n1 n1", most=8, speed=TIPPING, left=100.0)],
        [],
        {},
        "a:n1> a:n1>",
    ),
    "but not below its least": (
        {"n1": 8000},
        [runs("a", "n1 n1 n1 n1", least=4, speed=TIPPING, left=100.0)],
        [],
        {},
        "",
    ),
    "a job of unknown speed grows after the others": (
        {"n1": 5000},
        [
            runs("a", "n1", most=3, utility=2),
            runs("b", "n1", most=3, speed=LINEAR, left=100.0),
        ],
        [],
        {},
        ">n1:b >n1:b >n1:a",
    ),
    "without a reserve growing takes what the waiting job lacks": (
        {"n1": 3000, "n2": 2000},
        [runs("a", "n1", most=9), runs("b", "n2", utility=9)],
        [waits("c", 4, utility=2)],
        PLAIN,
        ">n1:a >n1:a >n2:a",
    ),
    "with a reserve it does not": (
        {"n1": 3000, "n2": 2000},
        [runs("a", "n1", most=9), runs("b", "n2", utility=9)],
        [waits("c", 4, utility=2)],
        {**PLAIN, "reserve": True},
        "",
    ),
    "with a reserve it takes what is left beside it": (
        {"n1": 8000, "n2": 5000},
        [runs("a", "n1", most=9)],
        [{"job": "c", "cpu": 4000, "wanted": 3, "utility": 0}],
        {**PLAIN, "reserve": True},
        ">n1:a >n1:a >n1:a >n2:a",
    ),
}


@pytest.mark.parametrize(
    ("nodes", "running", "waiting", "params", "done"), CASES.values(), ids=CASES.keys()
)
def test_the_plan_of_a_cluster(nodes, running, waiting, params, done):
    assert plan_text(Yard(nodes, running, waiting).decide(**params)) == done


def test_a_shrink_names_the_starter_and_the_cause():
    yard = Yard({"n1": 4000}, [runs("a", "n1 n1 n1")], [waits("b", 2, utility=2)])
    plan = yard.decide(**PLAIN)
    assert [(r.worker.uid, r.why, r.starts) for r in plan.removals] == [
        ("a-0", Why.MORE_IMPORTANT, "b")
    ]
    assert [(s.why, set(s.placement.nodes.values())) for s in plan.starts] == [
        (Why.MORE_IMPORTANT, {"n1"})
    ]


def test_a_step_names_the_seconds_it_saves():
    (step,) = (
        Yard({"n1": 8000}, [runs("a", "n1", most=8, speed=TIPPING, left=100.0)]).decide().additions
    )
    assert (step.why, step.saved_seconds) == (Why.SAVES_TIME, pytest.approx(1250.0 - 1000.0))


def test_workers_that_were_not_needed_come_back():
    """In turns a, b and a give one; then c fits on n1, and what b gave on n2 is not needed."""
    yard = Yard(
        {"n1": 3000, "n2": 3000},
        [runs("a", "n1 n1 n1"), runs("b", "n2 n2 n2", utility=2)],
        [{"job": "c", "cpu": 2000, "wanted": 1, "utility": 3}],
    )
    assert plan_text(yard.decide(**PLAIN)) == "a:n1> a:n1> +c(1)"


WRONG = {
    "no worker at all": {"least": 0, "most": 1},
    "most below least": {"least": 3, "most": 2},
    "servers without a shape": {"least": 1, "most": 2, "servers": 1},
}


@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG.keys())
def test_an_impossible_job_is_refused(row):
    weight = Weight(JobKey("a"), 1, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="expected 1 ≤ least ≤ most"):
        Elastic(weight, 0.0, Uid("a"), worker=make_shape(cpu=1), **row)

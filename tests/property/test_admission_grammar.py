"""A utility and a training are parsed from their own text to the same value."""

from hypothesis import given
from hypothesis import strategies as st

from extender.core.cluster import training_spec, utility
from extender.core.cluster.training_spec import Training
from extender.core.cluster.utility import StatedSigmoid, Steps

amounts = st.floats(1e-6, 1e9, allow_nan=False)
sigmoids = st.builds(StatedSigmoid, amounts, st.one_of(st.just(0.0), amounts), amounts)
steps = st.lists(st.tuples(amounts, amounts), min_size=1, max_size=5).map(
    lambda pairs: Steps(
        tuple(
            zip(
                sorted({at for at, _ in pairs}),
                sorted({value for _, value in pairs}, reverse=True),
                strict=False,
            )
        )
    )
)
counts = st.integers(1, 10**9 - 1)
some = st.one_of(st.none(), amounts)
trainings = st.builds(Training, counts, counts, counts, some, some, st.just(0), st.none(), some)
with_gradient = st.builds(
    Training, counts, counts, counts, some, some, st.integers(0, 1 << 40), amounts, some
)


@given(st.one_of(sigmoids, steps))
def test_a_utility_is_read_back_from_its_text(worth):
    assert utility.utility_of(utility.utility_text(worth)) == worth


@given(st.one_of(trainings, with_gradient))
def test_a_training_is_read_back_from_its_text(training):
    assert training_spec.training_of(training_spec.training_text(training)) == training


@given(st.one_of(sigmoids, steps), amounts, amounts)
def test_no_utility_rises_with_time(worth, one, other):
    assert worth.of(min(one, other)) >= worth.of(max(one, other))

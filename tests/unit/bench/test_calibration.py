"""The bands and the calls of ``converged`` on real curves that did not make them."""

import pytest

from bench.calibration import FACTORS, PAGE, corpus, measured, pages, predicting
from shared.progress import Span


@pytest.fixture(scope="module")
def runs():
    return corpus.read()


@pytest.fixture(scope="module")
def figures(runs):
    return measured.measure(runs)


def test_the_corpus_has_enough_curves_of_enough_projects(runs):
    held = [run for run in runs if run.held_out and run.whole]
    assert len(held) >= 100
    assert len({run.project for run in held}) >= 25
    assert not {run.project for run in held} & {r.project for r in runs if not r.held_out}
    timed = corpus.timed(runs)
    assert len(timed) >= 100
    assert len({run.project for run in timed}) >= 25


@pytest.mark.parametrize(
    ("gains", "low", "high"),
    [
        pytest.param([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 2, 9, id="every run gained"),
        pytest.param([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], 0, 4, id="a third gained nothing"),
    ],
)
def test_the_factors_of_the_gain_hold_two_thirds_also_where_runs_gain_nothing(gains, low, high):
    came = [
        predicting.Prediction(f"project {i}", 0.2, 0.5, Span(1, 1, 1), gain, 1)
        for i, gain in enumerate(gains)
    ]
    found = predicting.gain_factor(0.65, [(p, p.truth) for p in came])
    assert (found.low, found.high) == (low, high)
    assert sum(low <= gain <= high for gain in gains) == 8


def test_the_factors_are_those_that_the_corpus_gives(runs):
    assert FACTORS.read_text(encoding="utf-8") == pages.factors(predicting.factors(runs))


def test_the_page_has_the_figures_of_the_factors(figures):
    text = PAGE.read_text(encoding="utf-8")
    assert pages.page(text, figures) == text


@pytest.mark.parametrize("of", ["time", "gain"])
def test_a_band_for_two_thirds_holds_about_two_thirds(figures, of):
    found = getattr(figures, of)
    assert 0.60 <= found.holds <= 0.73
    assert found.bands >= 0.80
    assert found.width <= 0.50


def test_converged_is_hardly_ever_premature_early_and_recognises_most_plateaus(figures):
    known, unknown = figures.calls["total known"], figures.calls["total unknown"]
    assert max(known.false_early, unknown.false_early) <= 0.05
    assert known.recognised >= 0.70
    assert unknown.recognised >= 0.50
    assert unknown.recognised_by_half >= 0.70


def test_late_in_a_run_the_band_of_the_gain_holds_as_often_as_before(figures):
    """It held about half when the noise did not count."""
    late = [p for p in figures.gains if p.seen >= 0.7 and p.span]
    assert 0.60 <= sum(p.holds for p in late) / len(late) <= 0.73


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("loss min 1+1/3: 3", "1 values do not end at 3"),
        ("loss min: 3 2", "no range like 1\\+1/50"),
    ],
)
def test_a_line_of_another_form_is_an_error(tmp_path, line, message):
    file = tmp_path / "runs.txt"
    file.write_text(f"@ someone/project log.csv 1a2b3c4d\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        corpus.read(file)

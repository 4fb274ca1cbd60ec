"""The bands and the calls of ``converged`` on real curves that did not make them."""

import pytest

from bench.calibration import FACTORS, PAGE, corpus, measured, pages, predicting
from shared.convergence.calibrated import CALIBRATED


@pytest.fixture(scope="module")
def runs():
    return corpus.read()


@pytest.fixture(scope="module")
def figures(runs):
    return measured.measure(runs, CALIBRATED)


def test_the_corpus_has_enough_curves_of_enough_projects(runs):
    held = [run for run in runs if run.held_out and run.whole]
    assert len(held) >= 100
    assert len({run.project for run in held}) >= 25
    assert not {run.project for run in held} & {r.project for r in runs if not r.held_out}


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

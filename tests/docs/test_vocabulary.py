"""The pages of reasons and labels name all there are."""

from pathlib import Path

from extender.engine.reasons import Reason
from extender.engine.telling import IGNORED
from shared import labels

DOCS = Path(__file__).parents[2] / "docs"
ELSEWHERE = {labels.SIMULATED_DURATION, labels.QUEUED_CONDITION}


def test_every_reason_is_explained():
    page = (DOCS / "reasons.md").read_text()
    told = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert told == set(Reason)
    assert IGNORED in page


def test_every_key_of_ours_is_explained():
    page = (DOCS / "labels.md").read_text()
    keys = {
        v for v in vars(labels).values() if isinstance(v, str) and v.startswith("shuntyard.io/")
    }
    for key in keys - ELSEWHERE:
        assert key in page or key.replace("shuntyard.io/", "…/") in page, key

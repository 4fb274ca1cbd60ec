"""The page about elastic jobs names every phase, cause, reason and setting there is."""

import re
from pathlib import Path

from extender.core.parameters.elastic import RescaleParameters
from extender.core.records.rescale import Cause, Phase
from extender.core.records.rescale_reasons import ScalingReason
from extender.settings.running_jobs import ScalingSection
from shared.parameters import bounds

PAGE = (Path(__file__).parents[2] / "docs/elastic.md").read_text()
WORDS = set(re.findall(r"`([^`\n]+)`", PAGE))


def test_every_phase_and_cause_is_in_a_table():
    rows = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    listed = set(re.findall(r"`([^`\n]+)`", rows))
    assert {*Phase, *Cause} <= listed


def test_every_reason_is_explained_and_none_is_invented():
    tokens = {word for word in WORDS if re.fullmatch(r"([A-Z][a-z]*){2,}", word)}
    known = {*ScalingReason, *Phase, *Cause, "Rescaling", "Rescaled", "RescaleAborted"}
    assert set(ScalingReason) <= WORDS
    assert tokens <= known


def test_settings_have_their_names():
    names = {word for word in WORDS if re.fullmatch(r"[a-z]+(_[a-z]+)+", word)}
    metrics = {word for word in names if word.startswith("shuntyard_")}
    assert names - metrics <= ScalingSection.model_fields.keys()
    assert bounds(RescaleParameters).keys() <= names

"""The page about migration names every phase, reason and setting there is."""

import re
from pathlib import Path

from extender.core.records.migration_reasons import MigrationReason
from extender.settings.running_jobs import MigrationSection
from shared.model import MigrationPhase

PAGE = (Path(__file__).parents[2] / "docs/migration.md").read_text()
WORDS = set(re.findall(r"`([^`\n]+)`", PAGE))


def test_every_phase_is_in_the_table():
    rows = {line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")}
    assert set(MigrationPhase) <= rows


def test_every_reason_is_explained_and_none_is_invented():
    tokens = {word for word in WORDS if re.fullmatch(r"([A-Z][a-z]*){2,}|CRDMissing", word)}
    known = {*MigrationReason, *MigrationPhase, "ReadWriteMany", "Migrating", "Migrated"}
    known |= {"MigrationAborted", "MigrationFailed"}
    assert set(MigrationReason) <= WORDS
    assert tokens <= known


def test_settings_have_their_names():
    names = {word for word in WORDS if re.fullmatch(r"[a-z]+(_[a-z]+)+", word)}
    metrics = {word for word in names if word.startswith("shuntyard_")}
    assert names - metrics <= MigrationSection.model_fields.keys()

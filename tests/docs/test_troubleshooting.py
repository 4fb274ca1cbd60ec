"""The page on trouble names only what exists, and every cause of trouble."""

import re

from extender.core.cluster.reasons import Reason
from extender.core.records.migration_reasons import MigrationReason
from extender.core.records.rescale_reasons import ScalingReason
from extender.core.scheduler import binding, filtering
from tests.docs import references
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/troubleshooting.md"
TEXT = PAGE.read_text()
TOKENS = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][A-Za-z]*)+)`", TEXT))
OF_KUBERNETES = {
    "SchedulingGated",
    "FailedScheduling",
    "OutOfcpu",
    "OutOfmemory",
    "BackoffLimitExceeded",
}
EVENTS = {"Migrating", "Migrated", "Rescaling", "Rescaled"}


def test_every_command_on_the_page_exists() -> None:
    assert references.check_commands(TEXT) > 20


def test_every_setting_and_every_key_on_the_page_exists() -> None:
    assert references.odd_settings(TEXT) == []
    assert references.settings_named(TEXT) > 10
    assert references.odd_keys(TEXT) == set()


def test_every_reason_for_waiting_is_listed_and_no_token_is_invented() -> None:
    assert set(Reason) <= TOKENS | {str(r) for r in Reason if f"`{r}`" in TEXT}
    known = {*Reason, *MigrationReason, *ScalingReason, *OF_KUBERNETES, *EVENTS}
    assert {token for token in TOKENS if token not in known} <= {"OOMKilled"}


def test_every_text_that_a_refused_pod_shows_is_explained() -> None:
    texts = {filtering.NO_RESERVATIONS, filtering.NO_QUOTA, filtering.NO_ROOM_BESIDE_RESERVATIONS}
    texts |= {
        filtering.PLANNED_NOT_OFFERED,
        filtering.SECOND_OF_INDEX,
        binding.GANG_NOT_THERE.text,
        binding.STANDBY.text,
    }
    texts |= {binding.NO_RESERVATION.text, binding.PLAN_CHANGED.text, binding.NODE_GONE.text}
    assert [text for text in sorted(texts) if f"`{text}`" not in TEXT] == []

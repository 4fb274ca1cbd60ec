"""The pages of reasons and labels name all there are."""

import re
from pathlib import Path

from extender.core.cluster.reasons import Reason
from extender.core.queue.decision import QueueOutcome
from extender.core.queue.notices import IGNORED
from extender.core.queue.state import QueueState
from extender.core.scheduler import filtering
from extender.metrics.extender import ExtenderMetrics
from shared import labels
from shared.readapi.explanation import StepKind
from tests.unit.core.explain.situations import SITUATIONS

KEY = re.compile(r"`((?:shuntyard\.io|…)/[A-Za-z-]+)`")
DOCS = Path(__file__).parents[2] / "docs"


def test_every_reason_is_explained():
    page = (DOCS / "reasons.md").read_text()
    listed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert listed == set(Reason)
    assert IGNORED in page


def test_every_reason_has_a_text_that_never_changes():
    """kube-scheduler writes it into a pod's status, and a text that changes wakes the pod."""
    texts = [reason.message for reason in Reason]
    assert all(texts)
    assert [text for text in texts if set(text) & set("0123456789{}")] == []


def test_texts_of_filter_never_change_either():
    texts = [v for k, v in vars(filtering).items() if k.isupper() and isinstance(v, str)]
    assert texts
    assert [t for t in texts if not t.startswith("shuntyard: ") or set(t) & set("0123456789")] == []


def test_the_metric_has_exactly_the_reasons_as_labels():
    metrics = ExtenderMetrics()
    outcome = QueueOutcome(commands=(), state=QueueState(), entries=(), wake_after_seconds=None)
    metrics.queue.observe(outcome, 0.0)
    families = metrics.registry.collect()
    (found,) = (f for f in families if f.name == "shuntyard_waiting_jobs")
    assert {sample.labels["reason"] for sample in found.samples} == set(Reason)


def test_every_kind_of_change_and_every_cause_is_explained():
    page = (DOCS / "explain.md").read_text()
    listed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    causes = {s.cause for s in SITUATIONS.values()} - {"", "cpu", "memory", "nvidia.com/gpu"}
    assert listed >= set(StepKind) | causes


def test_every_key_of_ours_has_its_row_and_no_row_is_invented():
    """A key may be two things, a gate and a label: each has one row."""
    page = (DOCS / "labels.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
    listed = [key for row in rows for key in KEY.findall(row)]
    keys = {v for v in vars(labels).values() if isinstance(v, str)}
    assert {key.replace("…/", labels.DOMAIN + "/") for key in listed} == {
        key for key in keys if key.startswith(labels.DOMAIN + "/")
    }
    assert len(rows) == len(set(rows))

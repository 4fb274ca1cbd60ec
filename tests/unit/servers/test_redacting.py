"""Redaction removes entries and names of hidden namespaces; the rest stays as it was."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extender.core.kinds import registry
from extender.servers.auth import redacting
from extender.servers.auth.redacting import HIDDEN
from shared.readapi import api
from shared.readapi.explanation import Ahead, Change, Step, StepKind
from shared.readapi.ledgers import Declined, RescaleEntry, RescalesResponse
from shared.readapi.tenancy import NamespaceEntry, NamespacesResponse

KNOWN = frozenset({"red", "blue", "com", "deep-blue"})


def job(namespace: str, **changes: object) -> api.JobEntry:
    given = {
        "job": "fit", "namespace": namespace, "kind": "job", "created_at": 1.0,
        "min_available": 1, "members": 1, "counts": api.MemberCounts(),
    }  # fmt: skip
    return api.JobEntry(**{**given, **changes})  # type: ignore[arg-type]


def redacted(body: api.Response, hidden: set[str]) -> Any:
    visible = (KNOWN | redacting.listed_namespaces(body)) - hidden
    return redacting.without_names(redacting.keep_namespaces(body, visible), visible, KNOWN)


def text_of(body: api.Response, hidden: set[str]) -> str:
    answer = redacted(body, hidden)
    msgspec.convert(answer, type(body))  # clients can still decode it
    return json.dumps(answer)


def test_entries_of_hidden_namespaces_are_removed() -> None:
    body = api.JobsResponse(generated_at=1.0, entries=(job("red"), job("blue")))
    assert redacting.listed_namespaces(body) == {"red", "blue"}
    text = text_of(body, {"blue"})
    assert ("red" in text, "blue" in text) == (True, False)


def test_the_reason_of_a_visible_job_loses_the_name_of_a_hidden_one() -> None:
    waiting = job("red", reason="BehindReservation", message="room is kept for blue/job/fit")
    answer = redacted(api.JobsResponse(generated_at=1.0, entries=(waiting,)), {"blue"})
    assert answer["entries"][0]["message"] == f"room is kept for {HIDDEN}"


def test_a_namespace_is_listed_even_if_it_is_gone() -> None:
    body = api.JobsResponse(generated_at=1.0, entries=(job("gone"),))
    assert redacting.listed_namespaces(body) == {"gone"}
    assert "gone" not in text_of(body, {"gone"})


def test_shares_of_hidden_namespaces_are_removed() -> None:
    entry = NamespaceEntry(
        namespace="blue", waiting=1, running=1, held={}, share=0.5, weight=1.0, guaranteed_share=0.1
    )
    body = NamespacesResponse(generated_at=1.0, acting=True, fair_share=True, entries=(entry,))
    assert "blue" not in text_of(body, {"blue"})


def test_the_hidden_job_that_starts_in_place_of_a_visible_one_loses_its_name() -> None:
    entry = RescaleEntry(
        namespace="red", id="1", job="fit", kind="job", cause="SavesTime", before=3, to=2,
        phase="Asked", open=True, begun_at=1.0, since=1.0, starts="blue/job/fit",
        message="room for blue/job/fit; red/job/fit has most",
    )  # fmt: skip
    gone = Declined(job="blue/job/a", reason="x", message="y", at=1.0)
    kept = Declined(job="red/job/a", reason="x", message="not before blue/job/fit.", at=1.0)
    body = RescalesResponse(generated_at=1.0, acting=True, entries=(entry,), declined=(gone, kept))
    assert redacting.named_namespaces(body, KNOWN) == {"red", "blue"}
    answer = redacted(body, {"blue"})
    assert answer["entries"][0]["starts"] == HIDDEN
    assert answer["entries"][0]["message"] == f"room for {HIDDEN}; red/job/fit has most"
    assert [entry["message"] for entry in answer["declined"]] == [f"not before {HIDDEN}."]


def explained(says: str, subject: str) -> api.ExplainResponse:
    step = Step(kind=StepKind.WAIT, subject=subject, field="end")
    return api.ExplainResponse(
        generated_at=1.0, namespace="red", job="red/job/fit", state="gated",
        ahead=(Ahead(position=1, job="blue/job/a", reason="x", v=1.0),
               Ahead(position=2, job="red/job/b", reason="x", v=1.0)),
        changes=(Change(kind=StepKind.WAIT, says=says, steps=(step,)),),
    )  # fmt: skip


def test_an_explanation_keeps_its_sentences_without_names() -> None:
    body = explained("wait until blue/job/a and deep-blue/x-1 end", "blue/job/a")
    assert redacting.listed_namespaces(body) == {"red", "blue"}
    assert redacting.named_namespaces(body, KNOWN) == {"red", "blue", "deep-blue"}
    answer = redacted(body, {"blue", "deep-blue"})
    assert [entry["job"] for entry in answer["ahead"]] == ["red/job/b"]
    (change,) = answer["changes"]
    assert change["says"] == f"wait until {HIDDEN} and {HIDDEN} end"
    assert change["steps"][0]["subject"] == HIDDEN


NO_NAMES = [
    "nvidia.com/gpu",
    "example.com/blue",
    "3/4",
    "red/job/fit",
    "/blue",
    "a blue one",
    "x.blue/y",
]


@pytest.mark.parametrize("text", NO_NAMES)
def test_text_that_only_looks_like_a_name_stays(text: str) -> None:
    body = explained(f"needs {text}", "red/job/fit")
    answer = redacted(body, {"blue", "com"})
    assert answer["changes"][0]["says"] == f"needs {text}"


UNKNOWN = {
    "a job of a namespace that is gone": (
        "wait until gone/job/fit ends",
        f"wait until {HIDDEN} ends",
    ),
    "several": ("gone/vcjob/a, late/pod/b-0", f"{HIDDEN}, {HIDDEN}"),
    "in brackets": ("room (gone/raycluster/a.b)", f"room ({HIDDEN})"),
    "a path is no job": ("see deploy/base/rbac.yaml", "see deploy/base/rbac.yaml"),
    "a fraction is no pod": ("3/4 of batch/v1", "3/4 of batch/v1"),
}


@pytest.mark.parametrize(("says", "want"), UNKNOWN.values(), ids=UNKNOWN)
def test_a_job_of_an_unknown_namespace_is_hidden(says: str, want: str) -> None:
    """It was deleted since the text was written, or its Namespace is not observed yet."""
    (change,) = redacted(explained(says, "red/job/fit"), {"blue"})["changes"]
    assert change["says"] == want


def test_the_subject_of_an_answer_stays_even_if_its_namespace_is_unknown() -> None:
    body = msgspec.structs.replace(explained("new/job/fit waits", "new/job/fit"), namespace="new")
    (change,) = redacted(body, set())["changes"]
    assert (change["says"], change["steps"][0]["subject"]) == ("new/job/fit waits", "new/job/fit")


names = st.sampled_from(["red", "blue", "deep-blue", "gone", "late", "x1"])
kinds = st.sampled_from([adapter.kind for adapter in registry.KINDS.kinds])
keys = st.builds(
    "{}/{}/{}".format,
    names,
    kinds,
    st.from_regex(r"[a-z0-9][a-z0-9.-]{0,8}[a-z0-9]", fullmatch=True),
)
between = st.sampled_from([" ", ", ", " (", "'", "=", ": ", "; ", "\n", '"'])


@given(st.lists(st.tuples(between, keys), min_size=1, max_size=6))
def test_a_hidden_job_is_never_named(parts: list[tuple[str, str]]) -> None:
    says = "".join(before + key for before, key in parts)
    (change,) = redacted(explained(says, "red/job/fit"), KNOWN - {"red"})["changes"]
    expected = (key if key.startswith("red/") else HIDDEN for _, key in parts)
    assert change["says"] == "".join(
        before + shown for (before, _), shown in zip(parts, expected, strict=True)
    )

"""A long list comes in pages, and is shown as one (defect A8)."""

import json
from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from cli import pages
from cli.__main__ import main
from cli.errors import UnansweredError
from shared import api
from tests.fakes.answers import JOBS, NODES
from tests.unit.cli.conftest import ReadApi

FIRST = JOBS.entries[0]


class Paged:
    """A read API that tells a page at a time."""

    namespace: str | None = None

    def __init__(self, *told: api.Response) -> None:
        self.left: Iterator[api.Response] = iter(told)
        self.asked: list[dict[str, str]] = []

    def fetch(self, _path: str, *, question: bytes | None = None, **query: str) -> bytes:
        assert question is None
        self.asked.append(query)
        return msgspec.json.encode(next(self.left))


def page(*names: str, more: str = "") -> api.JobsResponse:
    return replace(JOBS, entries=tuple(replace(FIRST, job=name) for name in names), more=more)


def test_all_pages_are_asked_for_and_each_job_is_shown_once() -> None:
    way = Paged(page("a", "b", more="x"), page("b", "c", more="y"), page("d"))
    body, whole = pages.fetch(way, "/v1/jobs", api.JobsResponse, {"namespace": "n"})
    assert [entry.job for entry in whole.entries] == ["a", "b", "c", "d"]
    assert (body, whole.more) == (b"", "")
    asked = [{"namespace": "n", **more} for more in ({}, {"continue": "x"}, {"continue": "y"})]
    assert way.asked == asked


def test_one_page_is_the_answer_as_it_came() -> None:
    way = Paged(NODES)
    body, whole = pages.fetch(way, "/v1/nodes", api.NodesResponse, {})
    assert (msgspec.json.decode(body, type=api.NodesResponse), whole) == (NODES, NODES)


def test_pages_without_end_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_PAGES", 3)
    way = Paged(*(page("a", more="again") for _ in range(10)))
    with pytest.raises(UnansweredError, match="more than 3 pages"):
        pages.fetch(way, "/v1/jobs", api.JobsResponse, {})


def test_json_of_several_pages_is_one_answer(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    """The canned server says the same page again, with the same jobs, and then the last one."""
    told = iter([page("a", more="x"), page("b")])

    class Once(dict[str, tuple[int, bytes]]):
        def get(self, _path: str, _default: object = None) -> tuple[int, bytes]:  # type: ignore[override]
            return 200, msgspec.json.encode(next(told))

    read_api.answers = Once()
    assert main(["jobs", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert ([one["job"] for one in found["entries"]], found["continue"]) == (["a", "b"], "")
    assert read_api.asked == ["/v1/jobs", "/v1/jobs?continue=x"]

"""A list in pages is shown as one (defect A8)."""

import json
from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from cli import client
from cli.__main__ import main
from cli.errors import UnansweredError
from shared.readapi import api
from tests.fakes.answers import JOBS, NODES
from tests.unit.cli.conftest import ReadApi

FIRST = JOBS.entries[0]


class Paged:
    """A read API that answers a page at a time."""

    namespace: str | None = None

    def __init__(self, *pages: api.Response) -> None:
        self.left: Iterator[api.Response] = iter(pages)
        self.asked: list[dict[str, str]] = []

    def fetch(self, _path: str, *, question: bytes | None = None, **query: str) -> bytes:
        assert question is None
        self.asked.append(query)
        return msgspec.json.encode(next(self.left))


def page(*names: str, more: str = "") -> api.JobsResponse:
    return replace(JOBS, entries=tuple(replace(FIRST, job=name) for name in names), more=more)


def test_all_pages_are_fetched_and_each_job_is_listed_once() -> None:
    way = Paged(page("a", "b", more="x"), page("b", "c", more="y"), page("d"))
    body, whole = client.fetch_all(way, "/v1/jobs", api.JobsResponse, {"namespace": "n"})
    assert [entry.job for entry in whole.entries] == ["a", "b", "c", "d"]
    assert (body, whole.more) == (b"", "")
    asked = [{"namespace": "n", **more} for more in ({}, {"continue": "x"}, {"continue": "y"})]
    assert way.asked == asked


def test_a_single_page_is_returned_unchanged() -> None:
    way = Paged(NODES)
    body, whole = client.fetch_all(way, "/v1/nodes", api.NodesResponse, {})
    assert (msgspec.json.decode(body, type=api.NodesResponse), whole) == (NODES, NODES)


def test_pages_without_end_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MOST_PAGES", 3)
    way = Paged(*(page("a", more="again") for _ in range(10)))
    with pytest.raises(UnansweredError, match="more than 3 pages"):
        client.fetch_all(way, "/v1/jobs", api.JobsResponse, {})


def test_json_of_several_pages_is_one_answer(
    read_api: ReadApi, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server answers with a first page, then with the last one."""
    pages = iter([page("a", more="x"), page("b")])

    class Once(dict[str, tuple[int, bytes]]):
        def get(self, _path: str, _default: object = None) -> tuple[int, bytes]:  # type: ignore[override]
            return 200, msgspec.json.encode(next(pages))

    read_api.answers = Once()
    assert main(["jobs", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert ([one["job"] for one in found["entries"]], found["continue"]) == (["a", "b"], "")
    assert read_api.asked == ["/v1/jobs", "/v1/jobs?continue=x"]

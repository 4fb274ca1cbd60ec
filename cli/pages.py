"""A list of the read API as a whole: its pages, one after the other."""

from typing import Any, Final, TypeVar

from msgspec.structs import replace

from cli import client
from cli.client import Way
from cli.errors import UnansweredError
from shared import api

MOST_PAGES: Final = 10_000
"""Five million entries; an answer that never ends is no answer."""

Answer = TypeVar("Answer", bound=api.Response)


def fetch(way: Way, path: str, kind: type[Answer], query: dict[str, str]) -> tuple[bytes, Answer]:
    """Return the answer with the entries of all its pages, and its body if it has one page.

    Each page is as of its own moment: an entry that has moved meanwhile is told once.

    Raises:
        UnansweredError: A page is missing, or there is no last one.
    """
    body = way.fetch(path, question=None, **query)
    answer = first = client.understand(body, kind)
    known: dict[tuple[Any, ...], Any] = {_key(entry): entry for entry in _entries(answer)}
    for _ in range(MOST_PAGES):
        if not (more := _more(answer)):
            return (body, first) if answer is first else (b"", _whole(first, known))
        page = way.fetch(path, question=None, **{**query, "continue": more})
        answer = client.understand(page, kind)
        for entry in _entries(answer):
            known.setdefault(_key(entry), entry)
    raise UnansweredError(f"{path} has more than {MOST_PAGES} pages")


def _more(answer: api.Response) -> str:
    return answer.more if isinstance(answer, api.Listed) else ""


def _whole(first: Answer, known: dict[tuple[Any, ...], Any]) -> Answer:
    return replace(first, entries=tuple(known.values()), more="")


def _entries(answer: api.Response) -> tuple[Any, ...]:
    found: tuple[Any, ...] = getattr(answer, "entries", ())
    return found


def _key(entry: Any) -> tuple[Any, ...]:
    names = ("namespace", "kind", "job", "name", "id")
    return tuple(getattr(entry, name, None) for name in names)

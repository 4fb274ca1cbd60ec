"""Lists in pages: the parameters of a page, and the part of a list that it shows."""

from typing import Final, TypeVar

from aiohttp import web
from msgspec.structs import replace

from extender.core.explain import MOST_ENTRIES, Page
from extender.servers.auth import redacting
from shared.errors import InputError
from shared.readapi import api
from shared.readapi.ledgers import Declined, ParkingsResponse, RescalesResponse
from shared.readapi.tenancy import NamespacesResponse, Totals, totals

MOST_CONTINUE: Final = 1024
"""Characters of ``?continue=``; the parts of a job's key have at most 63, 63 and 253."""

_Ledger = TypeVar(
    "_Ledger", api.MigrationsResponse, RescalesResponse, ParkingsResponse, NamespacesResponse
)


def parameters(request: web.Request) -> tuple[int, str]:
    """Return how many entries a page may have, and after which entry it begins.

    Raises:
        InputError: ``limit`` is no number of entries, or ``continue`` comes from no answer.
    """
    text, after = request.query.get("limit", str(MOST_ENTRIES)), request.query.get("continue", "")
    if not (text.isascii() and text.isdecimal() and len(text) <= len("1000000000") and int(text)):
        raise InputError("query parameter limit", text, f"a number from 1 to {MOST_ENTRIES}")
    if len(after) > MOST_CONTINUE:
        raise InputError("query parameter continue", after[:80], "`continue` of the page before")
    return min(int(text), MOST_ENTRIES), after


def offset(page: Page) -> int:
    """Return how many entries come before a page, of a list whose positions are numbers.

    Raises:
        InputError: It is no number.
    """
    text = page.after or "0"
    if not (text.isascii() and text.isdecimal() and len(text) <= len("1000000000")):
        raise InputError("query parameter continue", text[:80], "`continue` of the page before")
    return int(text)


def part(whole: _Ledger, page: Page) -> _Ledger:
    """Return a page of a complete list; what was declined is on the first page."""
    visible = (
        whole if page.namespaces is None else redacting.keep_namespaces(whole, page.namespaces)
    )
    start = offset(page)
    end = start + page.limit
    shown = replace(
        visible,
        entries=visible.entries[start:end],
        more=str(end) if len(visible.entries) > end else "",
    )
    if isinstance(shown, NamespacesResponse):
        return replace(shown, others=None if start else _others(whole, page))
    declined: tuple[Declined, ...] = visible.declined if not start else ()
    return replace(shown, declined=declined)


def _others(whole: _Ledger, page: Page) -> Totals | None:
    """Return what the namespaces hold that are not listed; None if all are."""
    if page.namespaces is None or not isinstance(whole, NamespacesResponse):
        return None
    return totals(entry for entry in whole.entries if not page.shows(entry.namespace))

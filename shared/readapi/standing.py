"""Where a job stands in the order of the queue, as the read API shows it."""

from msgspec import Struct

from shared.progress import Span


class StandingEntry(Struct, frozen=True, kw_only=True):
    """The place of a job under the order ``service`` (docs/policies/service.md).

    Attributes:
        group: ``urgent``, ``critical`` or ``service``; the jobs of a group go before the next.
        needs: Expected seconds that it runs, with the band that holds about two thirds.
        source: Where that is from; empty: nothing but how long it has run already.
        weight: What its service is divided by.
    """

    group: str
    needs: Span
    source: str
    weight: float

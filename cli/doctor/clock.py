"""Do the clocks agree? Deadlines, certificates and tokens go by them."""

from collections.abc import Iterator
from typing import Final

from cli.doctor.findings import Finding, fault, ok, unknown, warning
from cli.doctor.read_api import nodes
from cli.doctor.site import Site

CHECK: Final = "clock"
NOTHING_SECONDS: Final = 3.0
"""Less cannot be told from the way, and stamps of whole seconds."""
FAULT_SECONDS: Final = 60.0
"""From here on deadlines of checkpoints are missed."""
_MEND: Final = "synchronise it, e.g. with chrony: `timedatectl` on that machine says whether it is"


def check(site: Site) -> Iterator[Finding]:
    """Compare this machine, the API server and the extender that answers."""
    site.reader.get("/version")
    ahead = site.reader.ahead_seconds
    yield of_this_machine(ahead)
    answer = nodes(site)
    if answer is not None and ahead is not None:
        here = site.reader.clock.now()
        yield of_the_extender(answer.generated_at - (here - ahead))


def of_this_machine(ahead_seconds: float | None) -> Finding:
    """Judge how far this machine is ahead of the API server."""
    if ahead_seconds is None:
        return unknown(CHECK, "the API server does not say what time it is")
    if abs(ahead_seconds) <= NOTHING_SECONDS:
        return ok(CHECK, "this machine and the API server have the same time")
    said = f"this machine is {_off(ahead_seconds)} the API server"
    return warning(CHECK, said, f"{_MEND}; tokens and certificates may seem to have ended")


def of_the_extender(ahead_seconds: float) -> Finding:
    """Judge how far the extender is ahead of the API server."""
    if abs(ahead_seconds) <= NOTHING_SECONDS:
        return ok(CHECK, "the extender and the API server have the same time")
    said = f"the extender's node is {_off(ahead_seconds)} the API server"
    judge = fault if abs(ahead_seconds) > FAULT_SECONDS else warning
    return judge(CHECK, said, _MEND)


def _off(ahead_seconds: float) -> str:
    where = "ahead of" if ahead_seconds > 0 else "behind"
    return f"{abs(ahead_seconds):.0f} s {where}"

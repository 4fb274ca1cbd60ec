"""What was called beside what is allowed: nothing missing, nothing unused."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from devcluster.bootstrap import DEPLOY
from devcluster.rights.calls import Call
from devcluster.rights.granted import Granted, Right, accounts, documents, granted

EVERYBODYS: Final = frozenset(
    {"system:basic-user", "system:discovery", "system:public-info-viewer"}
)
"""Kubernetes' own roles of all who are authenticated."""
SCHEDULERS: Final = frozenset({"system:kube-scheduler", "system:volume-scheduler", "coscheduling"})
"""Kubernetes' own roles of its scheduler, and that of a peer which runs under the same name."""


@dataclass(frozen=True)
class Verdict:
    """What does not fit.

    Attributes:
        missing: Calls that were refused each time, and that no right of ours allows. An API server
            that was just started refuses what it allows once it has read the roles.
        foreign: Calls that a role allowed which is none of ours, nor of all.
        unused: Rights with which nobody called.
        used: How often each other right was used, by verb of the user.
    """

    missing: tuple[Call, ...]
    foreign: tuple[Call, ...]
    unused: tuple[Right, ...]
    used: Mapping[Right, int]

    @property
    def exact(self) -> bool:
        """Nothing is missing, and everything was used."""
        return not (self.missing or self.foreign or self.unused)


def compare(calls: Counter[Call], given: Granted) -> Verdict:
    """Compare calls with rights."""
    used: Counter[Right] = Counter()
    missing, foreign = [], []
    once = {replace(call, role="") for call in calls if call.allowed}
    known = given.borrowed | EVERYBODYS | SCHEDULERS
    for call, count in sorted(calls.items()):
        covering = list(_covering(call, given))
        if call.allowed:
            used.update(dict.fromkeys(covering, count))
            if not covering and call.role not in known:
                foreign.append(call)
        elif not covering and replace(call, allowed=True, role="") not in once:
            missing.append(call)
    unused = tuple(sorted(given.rights - used.keys()))
    return Verdict(tuple(missing), tuple(foreign), unused, used)


def shipped() -> Granted:
    """Return what deploy/ gives: the base, and what an extender needs that leads others to it."""
    folders = (DEPLOY / "base", DEPLOY / "overlays" / "attached")
    return granted(one for folder in folders for one in documents(folder))


def _covering(call: Call, given: Granted) -> Iterator[Right]:
    account = accounts(call.user)
    return (right for right in given.rights if right.account == account and right.covers(call))


def refusals(verdict: Verdict) -> Iterator[str]:
    """Yield what calls lacked."""
    for call in verdict.missing:
        yield f"missing: {_shown(call)}"
    for call in verdict.foreign:
        yield f"not ours: {_shown(call)}, allowed by {call.role or 'nobody that is named'}"


def report(verdict: Verdict) -> Iterator[str]:
    """Yield what people read."""
    yield from refusals(verdict)
    for right in verdict.unused:
        yield f"unused: {right.account} may {right.text()}"
    yield f"{len(verdict.used)} rights used, {len(verdict.unused)} unused"


def _shown(call: Call) -> str:
    where = f" in {call.namespace}" if call.namespace else ""
    name = f" {call.name!r}" if call.name else ""
    group = f".{call.group}" if call.group else ""
    return f"{call.user} wants to {call.verb} {call.resource}{group}{name}{where}"

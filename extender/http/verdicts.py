"""What tokens are worth, remembered by a digest of theirs for a while; the least used go first."""

from collections import OrderedDict
from dataclasses import dataclass, field

from extender.metrics import Reviewed
from shared.model import NodeName


@dataclass(frozen=True)
class Verdict:
    """What a token is worth: a node, or why it is refused."""

    node: NodeName | None
    status: Reviewed = Reviewed.ACCEPTED
    text: str = ""


@dataclass
class Verdicts:
    """At most ``most`` verdicts, each until a monotonic second."""

    most: int
    _kept: OrderedDict[bytes, tuple[Verdict, float]] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes, monotonic: float) -> Verdict | None:
        """Return what is remembered under ``key``; None if nothing is, or no longer."""
        verdict, until = self._kept.get(key, (None, 0.0))
        if verdict is None:
            return None
        if monotonic >= until:
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return verdict

    def put(self, key: bytes, verdict: Verdict, until: float) -> None:
        """Remember a verdict until the monotonic second ``until``."""
        self._kept[key] = verdict, until
        self._kept.move_to_end(key)
        if len(self._kept) > self.most:
            self._kept.popitem(last=False)

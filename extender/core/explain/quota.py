"""What the limit of its namespace would have to be for a job that waits for quota."""

import math
from typing import Final

from extender.core.cluster.reason_record import Limit
from extender.core.cluster.reasons import Reason
from extender.core.explain.corrections import Correction
from extender.core.explain.trial import Situation
from extender.core.queue import namespace_shares
from extender.core.queue.fair_share import Entitlement
from shared import labels
from shared.explanation import Step, StepKind
from shared.parameters import bounds

CAUSE: Final = "quota"
_DIGITS: Final = 4
_MOST_BORROWING: Final = bounds(Entitlement)["borrowing"][1]


def raised(s: Situation, reason: Reason | None) -> tuple[Correction, ...]:
    """Return the borrowing limit with which its namespace may hold the job too.

    Empty if the job waits for something else, or if no limit that may be stated is enough.
    """
    if reason is None or reason.limit is not Limit.QUOTA:
        return ()
    namespace = s.job.namespace
    entitled, _ = namespace_shares.entitlement(namespace, s.snapshot)
    share = namespace_shares.shares(s.snapshot, s.params).share_with(s.job)
    scale = 10**_DIGITS
    least = math.ceil((share - entitled.guaranteed) * scale - 1e-6) / scale
    if least > _MOST_BORROWING:
        return ()
    key, before, after = labels.BORROWING_LIMIT, f"{entitled.borrowing or 0:g}", f"{least:g}"
    step = Step(kind=StepKind.RAISE_QUOTA, subject=namespace, field=key, before=before, after=after)
    says = f"set {key} of namespace {namespace} to {after} (now {before})"
    return (Correction(CAUSE, (step,), says, s),)

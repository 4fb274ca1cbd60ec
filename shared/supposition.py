"""What would become of a job that nobody has submitted: the parts of ``/v1/what-if``.

Times are seconds since the epoch.
"""

from msgspec import Struct


class Place(Struct, frozen=True, kw_only=True):
    """Where a pod of a job that was asked about would go; ``node`` empty: kube-scheduler says."""

    pod: str
    role: str
    node: str


class Checked(Struct, frozen=True, kw_only=True):
    """Whether the API server has checked a manifest, by a dry run with the rights of its user.

    The command that asks says it: the extender has no right to ask in the name of others.

    Attributes:
        by_api_server: Whether it has checked every object, and a pod of every template.
        reason: Why it has not; empty if it has. Then defaults are those that are known without it.
        pods_by_api_server: Whether it has checked the pods at least. If not, LimitRanges, quotas
            and admission policies are not in the answer.
    """

    by_api_server: bool
    reason: str = ""
    pods_by_api_server: bool = False


class Bill(Struct, frozen=True, kw_only=True):
    """What the prices of the nodes charge for a job (docs/policies/pricing.md).

    In units of the price of an idle resource: a pod that asks for all of the largest node's CPU,
    and nothing else, costs 1 on an idle cluster.

    Attributes:
        idle: The same pods on an idle cluster.
        now: The pods that would get a node now, there, at the prices that the job finds; None if
            none would, and then ``idle`` is that of all its pods.
    """

    idle: float
    now: float | None = None


class Shift(Struct, frozen=True, kw_only=True):
    """A waiting job for which something else is expected if the job that was asked about comes.

    Where no start is known, with that job and without, it is here if its place is a later one.

    Attributes:
        job: ``namespace/kind/name``.
        position_without: Its place in the queue without that job; None if it has none.
        position_with: The same with it.
        start_without: When it is expected to start, seconds since the epoch; None if unknown.
        start_with: The same with that job.
        later_seconds: By how much later it starts; below 0: earlier. None if a start is unknown.
        estimate_without: What that estimate rests on, or why there is none.
        estimate_with: The same with that job.
    """

    job: str
    position_without: int | None
    position_with: int | None
    start_without: float | None = None
    start_with: float | None = None
    later_seconds: float | None = None
    estimate_without: str = ""
    estimate_with: str = ""

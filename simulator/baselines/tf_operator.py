"""The training operator alone: the workers a job asked for, for ever, pod by pod.

kube-scheduler binds each pod where most is free, as soon as it fits, whether or not the others of
its job fit. A job trains when all are bound; until then what is bound is taken and idle.

Source:
    kubeflow/training-operator (formerly tf-operator) without gang scheduling; kube-scheduler's
    default ``NodeResourcesFit`` with ``LeastAllocated``.
"""

from simulator.models.parameter_server import Amounts, ServerJob, Site


class TfOperator:
    """See the module."""

    def __init__(self) -> None:
        self._bound: dict[str, list[str]] = {}

    def act(self, site: Site, now: float) -> None:  # noqa: ARG002 - it looks at no clock
        """Bind what fits, first come, first served; start what is complete."""
        for job in list(site.waiting):
            bound = self._bound.setdefault(job.name, [])
            for amounts in _pods(job)[len(bound) :]:
                node = _least_allocated(site, amounts)
                if node is None:
                    break
                site.take(node, amounts)
                site.changes += 1
                bound.append(node)
            if len(bound) == job.servers + job.wanted:
                site.begin_on_taken(job, bound[: job.servers], bound[job.servers :])


def _pods(job: ServerJob) -> list[Amounts]:
    return [job.server] * job.servers + [job.worker] * job.wanted


def _least_allocated(site: Site, amounts: Amounts) -> str | None:
    """Return the node with the largest mean share free after the pod; None if none has room."""
    ranked = [
        (
            -sum(
                (free - wanted) / has
                for free, wanted, has in zip(
                    site.free[node], amounts, site.capacity[node], strict=True
                )
            ),
            node,
        )
        for node in site.capacity
        if site.fits(node, amounts)
    ]
    return min(ranked)[1] if ranked else None

"""States of one machine of 4 for workers and one of 4 for servers; L = 1, U = 16."""

from extender.core.cluster.utility import Steps
from extender.core.parameters.pricing import AdmissionParameters
from extender.core.pricing import admission
from tests.unit.core.policies.slot_worlds import make_bounds, make_cluster, make_job


def begin(horizon=4, workers=4.0, **more):
    cluster = make_cluster([[workers]], [[4.0]], horizon, **more)
    return admission.empty_state(cluster, make_bounds(1.0, 16.0))


def wide(name, value, **fields):
    """All four workers for one slot, worth ``value`` if done in the slot of its arrival."""
    return make_job(name, chunks=4, worker_bandwidth=0.0, utility=Steps(((0.0, value),)), **fields)


def offer(state, job, params=None):
    decision = admission.offer(job, state, params or AdmissionParameters())
    state.accept(job, decision)
    return decision

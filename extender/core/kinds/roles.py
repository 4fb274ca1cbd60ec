"""In which role a pod is: our label, else what its kind says, else a well-known label."""

from typing import Final

from extender.core.kinds.problem import Problem
from shared import labels
from shared.errors import InputError
from shared.model import Pod

COORDINATORS: Final = frozenset({"ps", "chief", "master", "launcher", "head", "leader"})
"""Roles that serve or steer the others; pods of every other role do the work."""


def role(pod: Pod, of_kind: str) -> tuple[str, Problem | None]:
    """Return the role in lower case, empty if there is none, and what is wrong with it.

    Our label may rename a role that the user chose (the name of a replicated job). It may not
    differ from the replica type of training-operator, which the trainer itself uses.

    Args:
        pod: The pod.
        of_kind: The role that its kind knows; empty if the kind has no roles.
    """
    ours = pod.labels.get(labels.ROLE, "").lower()
    replica_type = pod.labels.get(labels.TRAINING_REPLICA_TYPE, "").lower()
    if ours and replica_type and ours != replica_type:
        expected = f"the role that label {labels.TRAINING_REPLICA_TYPE} names, {replica_type!r}"
        return ours, Problem.of(InputError(f"label {labels.ROLE}", ours, expected))
    return ours or of_kind or replica_type, None

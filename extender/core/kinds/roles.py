"""In which role a pod is: our label, else what its kind says, else a well-known label."""

from typing import Final

from shared import labels
from shared.errors import InputError
from shared.model import Pod

COORDINATORS: Final = frozenset({"ps", "chief", "master", "launcher", "head", "leader"})
"""Roles that serve or steer the others; pods of every other role do the work."""


def role(pod: Pod, of_kind: str) -> tuple[str, str]:
    """Return the role in lower case, empty if there is none, and what is wrong with it.

    Our label may rename a role that the user chose (a replicated job's name); it may not say
    something else than training-operator's replica type, which the trainer itself goes by.

    Args:
        pod: The pod.
        of_kind: What its kind says; empty if that knows no roles.
    """
    ours = pod.labels.get(labels.ROLE, "").lower()
    replica_type = pod.labels.get(labels.TRAINING_REPLICA_TYPE, "").lower()
    if ours and replica_type and ours != replica_type:
        expected = f"the role that label {labels.TRAINING_REPLICA_TYPE} names, {replica_type!r}"
        return ours, str(InputError(f"label {labels.ROLE}", ours, expected))
    return ours or of_kind or replica_type, ""

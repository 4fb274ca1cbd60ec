"""A gang that Koordinator's annotations declare on the pods themselves.

Source:
    github.com/koordinator-sh/koordinator ``apis/extension/coscheduling.go``.
"""

from typing import Final

from typing_extensions import override

from extender.core.kinds.base import JobKind, Owners, count
from shared import foreign_labels
from shared.errors import InputError
from shared.model import Pod

_SIZE: Final = f"annotation {foreign_labels.KOORDINATOR_MIN_AVAILABLE}"
_GANGS: Final = f"annotation {foreign_labels.KOORDINATOR_GANGS}"
_ONE_GANG: Final = (
    "read: gangs that start only together are one job by label shuntyard.io/job, "
    "with annotation shuntyard.io/min-available"
)


class KoordinatorGang(JobKind):
    """All pods that name the gang are one job."""

    kind = "koordinator"
    marks = frozenset({foreign_labels.KOORDINATOR_GANG})
    size_field = _SIZE

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if the annotation is there."""
        return bool(pod.annotations.get(foreign_labels.KOORDINATOR_GANG))

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the name of the gang."""
        return pod.annotations[foreign_labels.KOORDINATOR_GANG]

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return the size that the annotation states.

        Raises:
            InputError: It is no number of pods, or the gang waits for other gangs.
        """
        others = pod.annotations.get(foreign_labels.KOORDINATOR_GANGS, "")
        if "," in others:
            raise InputError(_GANGS, others, _ONE_GANG)
        return count(_SIZE, pod.annotations.get(foreign_labels.KOORDINATOR_MIN_AVAILABLE))

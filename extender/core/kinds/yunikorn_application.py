"""An application of YuniKorn whose pods name a task group: without one it asks for no gang.

Source:
    github.com/apache/yunikorn-k8shim ``pkg/common/constants/constants.go``,
    ``pkg/common/utils/utils.go`` (the order of the keys of an application's id).
"""

from typing import Final

import msgspec
from typing_extensions import override

from extender.core.kinds.base import JobKind, Owners
from shared import foreign_labels
from shared.errors import InputError
from shared.model import Pod

_TASK_GROUPS: Final = f"annotation {foreign_labels.YUNIKORN_TASK_GROUPS}"
_EXPECTED: Final = "a JSON list of task groups, each with a minMember of at least 1"


class _TaskGroup(msgspec.Struct, rename="camel"):
    min_member: int


class YunikornApplication(JobKind):
    """The gang is the sum of the task groups; the role is the task group."""

    kind = "yunikorn"
    marks = frozenset({foreign_labels.YUNIKORN_TASK_GROUP})
    size_field = _TASK_GROUPS

    @override
    def claims(self, pod: Pod) -> bool:
        """Return True if a task group and an application are named."""
        return bool(pod.annotations.get(foreign_labels.YUNIKORN_TASK_GROUP) and _application(pod))

    @override
    def job_name(self, pod: Pod) -> str:
        """Return the id of the application."""
        return _application(pod)

    def role(self, pod: Pod) -> str:
        """Return the name of the task group."""
        return pod.annotations[foreign_labels.YUNIKORN_TASK_GROUP].lower()

    def size(self, pod: Pod, above: Owners) -> int | None:
        """Return the sum over the task groups; None on pods without them (one must have them).

        Raises:
            InputError: They cannot be read.
        """
        text = pod.annotations.get(foreign_labels.YUNIKORN_TASK_GROUPS)
        if text is None:
            return None
        try:
            groups = msgspec.json.decode(text, type=list[_TaskGroup])
        except (msgspec.DecodeError, RecursionError) as error:  # any user may nest JSON deeply
            raise InputError(_TASK_GROUPS, text, _EXPECTED) from error
        if not groups or any(group.min_member < 1 for group in groups):
            raise InputError(_TASK_GROUPS, text, _EXPECTED)
        return sum(group.min_member for group in groups)


def _application(pod: Pod) -> str:
    canonical, older = foreign_labels.YUNIKORN_APPLICATIONS
    found = pod.labels.get(canonical) or pod.annotations.get(canonical) or pod.labels.get(older)
    return found or ""

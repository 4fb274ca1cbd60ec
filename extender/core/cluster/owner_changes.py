"""Changes of owners, and marks on their pods: executed by ``writers.owners`` alone.

Spec and annotations of an owner are one write, so that what is done and the word about it cannot
come apart.
"""

from collections.abc import Mapping

from msgspec import Struct

from extender.core.cluster.commands import EmitEvent
from shared.model import JobKey, Owner, PodKey, Uid


class ChangeOwner(Struct, frozen=True, tag=True):
    """Change an owner that is still as it was read.

    Attributes:
        owner: As it was read; uid and resource version are preconditions.
        namespace: Of the job for which it is changed. An owner of another one is never changed.
        fields: JSON pointer to the number that it gets.
        guards: JSON pointer and text of what must still stand there.
        leaving: JSON pointer, key and list that it gets as its value: names of pods that go.
        suspend: What ``owner.suspend_field`` gets; None leaves it alone.
        annotations: What they get; None takes one away.
        event: What people are told once it is written; None: nothing.
        why: For the log.
    """

    owner: Owner
    namespace: str
    why: str
    fields: tuple[tuple[str, int], ...] = ()
    guards: tuple[tuple[str, str], ...] = ()
    leaving: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    suspend: bool | None = None
    annotations: Mapping[str, str | None] = {}
    event: EmitEvent | None = None

    @property
    def allowed(self) -> bool:
        """Whether the owner is in the namespace of its job."""
        return bool(self.namespace) and self.owner.namespace == self.namespace


def namespace_of(job: JobKey, owner: Owner) -> str:
    """Return the namespace of a job; of the owner that carries its record if it names none."""
    return job.partition("/")[0] if job else owner.namespace


class MarkPod(Struct, frozen=True, tag=True):
    """Annotate a pod that is to leave, so that its owner removes it before others.

    Attributes:
        pod: Its name.
        uid: The precondition.
        annotations: What it gets.
    """

    pod: PodKey
    uid: Uid
    annotations: Mapping[str, str]

"""What parking does to the objects of one kind: facts for decisions and for the reference page.

They are those of each kind's own controller. How an object is suspended stands in ``shared.kube``,
which reads it; a test holds both together.
"""

from typing import Final

from msgspec import Struct

KEEPS_ENDED: Final = "kept: the gang comes back without them"
ENDS_NEVER: Final = "none end by themselves"
RESTARTS: Final = "starts again with the return"
NOT_COUNTED: Final = "not counted"


class ParkingFacts(Struct, frozen=True, kw_only=True):
    """Facts of one kind of owner.

    Attributes:
        kind: As in ``kind``.
        group: API group.
        field: What is written, for people: dots, and ``[]`` for each entry of a list.
        others: What else writes that field.
        clock: What happens to its deadlines.
        failures: What its back-off or restart limits count of it.
        ended: What happens to pods that have ended well.
        volumes: What happens to the volumes that it makes.
        returns: How its pods come back.
        reruns: Pods that have ended well run again.
        renames: Its pods come back under another job key, unless a label of theirs names the job.
        warning: What else is lost, for the Event; empty if nothing is.
    """

    kind: str
    group: str
    field: str
    others: str = ""
    clock: str = "it has none"
    failures: str = NOT_COUNTED
    ended: str = KEEPS_ENDED
    volumes: str = "kept"
    returns: str
    reruns: bool = False
    renames: bool = False
    warning: str = ""

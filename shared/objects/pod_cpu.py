"""CPU requests of a pod's containers, and the owner's request where we have changed it. Pure.

A request that we change in place is written down first, in an annotation of the pod:
``shuntyard.io/cpu-given: <container>=<request>``, e.g. ``main=500m``. As long as it is there, the
request of that container is ours to change, and it says what to restore.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from shared import labels

_WRITTEN: Final = re.compile(r"([a-z0-9-]{1,63})=([1-9][0-9]{0,8})m", re.ASCII)


class ContainerCpu(Struct, frozen=True):
    """The CPU of one container, as the pod's spec has it now.

    Attributes:
        name: Of the container.
        request_milli: Its request; 0: none.
        limit_milli: Its limit; None: none.
        restarts: Changing its CPU restarts it (``resizePolicy``).
    """

    name: str
    request_milli: int = 0
    limit_milli: int | None = None
    restarts: bool = False


class GivenCpu(Struct, frozen=True):
    """The owner's request for the one container whose request we change."""

    container: str
    milli: int

    @property
    def text(self) -> str:
        """The annotation's value."""
        return f"{self.container}={self.milli}m"


def parse_given(annotations: Mapping[str, str]) -> GivenCpu | None:
    """Parse the annotation; None if it is missing, or not in our format."""
    match = _WRITTEN.fullmatch(annotations.get(labels.CPU_GIVEN, ""))
    return None if match is None else GivenCpu(match[1], int(match[2]))

"""Device classes of dynamic resource allocation (DRA), as the core sees them (``shared.model``).

Source:
    KEP-5004: a DeviceClass may name an extended resource. A pod that asks for it in its containers'
    requests is served with devices of that class where the node does not offer the resource itself.
    Every class is also served under a resource name made of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from shared.identity import Uid

IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
"""Before the name of a class: the resource under which every class is served."""


class DeviceClass(Struct, frozen=True, kw_only=True, tag=True):
    """A DeviceClass: read for the resources that pods ask for and that nodes need not offer.

    Attributes:
        extended_resource: ``spec.extendedResourceName``; empty if it names none.
    """

    name: str
    uid: Uid = Uid("")
    created_at: float = 0.0
    extended_resource: str = ""

    @property
    def key(self) -> str:
        """The class's name."""
        return self.name


def served(classes: Iterable[DeviceClass]) -> Mapping[str, str]:
    """Return the resources that classes serve, and the name of the class behind each.

    Of several classes with one resource the latest counts, then the first by name.
    """
    found: dict[str, str] = {}
    for one in sorted(classes, key=lambda c: (-c.created_at, c.name)):
        found[f"{IMPLICIT}{one.name}"] = one.name
        if one.extended_resource:
            found.setdefault(one.extended_resource, one.name)
    return found

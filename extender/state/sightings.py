"""Two sights of one object: whether one is older, or says nothing new."""

from msgspec.structs import replace

from shared.model import Entity, Migration, Node, Owner


def only_later(node: Entity, held: Entity | None) -> bool:
    """Say whether of a node only the version is new, as with each of its heartbeats."""
    if not isinstance(node, Node) or not isinstance(held, Node):
        return False
    return replace(node, resource_version=held.resource_version) == held


def older(one: Migration | Owner, held: Entity | None) -> bool:
    """Say whether ``one`` is an earlier state of the same object.

    Source:
        KEP-5504: resource versions of one resource are integers that grow.
    """
    if not isinstance(held, Migration | Owner):
        return False
    versions = (one.resource_version, held.resource_version)
    numbers = [int(v) for v in versions if v.isascii() and v.isdecimal()]
    return one.uid == held.uid and len(numbers) == len(versions) and numbers[0] < numbers[1]

"""All owners of the cluster, and the one way to look one up.

**Rule.** An owner reference holds inside one namespace. The author of a pod writes its references
too, with any uid. So an owner is looked up by the namespace of what refers to it and by the whole
reference: uid, API group, kind and name. There is no look-up by uid alone.
"""

from collections.abc import Iterable, Iterator, Mapping

from typing_extensions import override

from shared.model import Owner, OwnerReference, Uid


class OwnerIndex:
    """Owners by uid, which nothing outside of this module sees."""

    __slots__ = ("_owners_by_uid",)

    def __init__(self, by_uid: Mapping[Uid, Owner]) -> None:
        self._owners_by_uid = by_uid

    def of(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """Return the owner that an object of a namespace refers to; None if it was not observed.

        None too where the owner is in another namespace, or the reference calls it otherwise.
        """
        owner = self._owners_by_uid.get(reference.uid)
        if owner is None or owner.namespace != namespace:
            return None
        if owner.kind != reference.kind or owner.name != reference.name:
            return None
        return owner if _in_one_group(owner, reference) else None

    def remembered(self, namespace: str, uid: Uid) -> Owner | None:
        """Return an owner whose uid we wrote down ourselves, if it is in that namespace."""
        owner = self._owners_by_uid.get(uid)
        return owner if owner is not None and owner.namespace == namespace else None

    def named(self, namespace: str, reference: OwnerReference) -> Owner | None:
        """Return an owner of that namespace, kind and name, whatever uid it has."""
        name = (namespace, reference.kind, reference.name)
        alike = (o for o in self if (o.namespace, o.kind, o.name) == name)
        return next((o for o in alike if _in_one_group(o, reference)), None)

    def annotated(self, key: str) -> list[Owner]:
        """Return the owners with an annotation, in order of uid."""
        owners = (owner for owner in self if key in owner.annotations)
        return sorted(owners, key=lambda owner: owner.uid)

    def with_(self, owners: Iterable[Owner]) -> "OwnerIndex":
        """Return these owners in addition, or in place of those with their uids."""
        return OwnerIndex({**self._owners_by_uid, **{owner.uid: owner for owner in owners}})

    def __iter__(self) -> Iterator[Owner]:
        return iter(self._owners_by_uid.values())

    def __len__(self) -> int:
        return len(self._owners_by_uid)

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OwnerIndex):
            return NotImplemented
        return (
            self._owners_by_uid is other._owners_by_uid
            or self._owners_by_uid == other._owners_by_uid
        )

    @override
    def __hash__(self) -> int:
        raise TypeError("its content changes with the cluster")


def _in_one_group(owner: Owner, reference: OwnerReference) -> bool:
    if owner.api_version == reference.api_version:
        return True  # nearly always: compared for every pod
    return _group(owner.api_version) == _group(reference.api_version)


def _group(api_version: str) -> str:
    """Return the API group; empty for the core's."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""

"""Signatures of our records on objects that others may edit: made by writers, checked on the watch.

Every user who may edit a pod may write our annotations on it. So each reservation, each record on
an owner and the spec of each Migration is signed; a record that does not verify never reaches the
store:

=====================  ============================================================================
object                 what the core sees where the signature is missing, wrong or old
=====================  ============================================================================
pod without a node     the pod without its reservation; ``reservation_refused`` has the reason
pod with a node        the pod as it is: nothing is decided by its reservation any more
owner                  the owner without the record
Migration              nothing: it does not exist
=====================  ============================================================================

The decision log holds what the core saw, so it replays without keys.

A reservation that was signed for the same pod earlier is refused: the newest generation of each pod
is remembered as long as the pod lives. A restart forgets it and reads it again from the pod. So
while no replica watches, an editor of a pod may replace its newest reservation by an older one of
the same pod; its pin, which cannot be edited, still keeps it on the nodes of its release.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from extender.core.records import signatures
from extender.core.records.signatures import Fault, KeyRing, Signed
from shared import labels
from shared.model import Delete, Delta, Entity, Migration, Owner, Pod, PodKey, Replace, Uid, Upsert

SIGNED_SECONDS = 600.0
"""A Migration is made at once after it was signed. One that is younger than its signature by more
than this was copied from another one; clocks may differ by less."""

_RESERVATION = tuple(sorted(labels.RESERVATION - {labels.DECISION}))


_RECORDS = {
    labels.RESCALE: Signed.RESCALE,
    labels.SLOT_PLAN: Signed.SLOT_PLAN,
    labels.PROFILE: Signed.PROFILE,
    labels.HANG_RESTARTS: Signed.HANG_RESTARTS,
    labels.PARKING: Signed.PARKING,
}

log = logging.getLogger(__name__)


@dataclass
class _Held:
    """The last check of one object that has, or had, a signed record.

    Attributes:
        shown: The object as last observed, if it has a signed record.
        values: The values that were checked.
        faults: The faults of that check, by kind of record.
        newest: The smallest valid generation, by kind of record.
    """

    uid: Uid
    shown: Entity | None = None
    values: tuple[str | None, ...] = ()
    faults: Mapping[Signed, Fault] = field(default_factory=dict)
    newest: dict[Signed, int] = field(default_factory=dict)


@dataclass
class Signatures:
    """Signs our records, and removes records that do not verify from observed objects.

    Attributes:
        now_seconds: Clock reading, in seconds since the epoch.
        ring: The keys; None: nothing is signed, and every record is valid.
        refused: Called when a record is found not to verify.
        unknown_key: Called when a record is signed by a key that we have not read yet.
    """

    now_seconds: Callable[[], float] = lambda: 0.0
    ring: KeyRing | None = None
    refused: Callable[[Signed, Fault], None] = lambda _record, _fault: None
    unknown_key: Callable[[], None] = lambda: None
    _held: dict[str, _Held] = field(default_factory=dict)
    _last: int = 0

    def use(self, ring: KeyRing) -> tuple[Entity, ...]:
        """Replace the keys; return the objects that must be observed again."""
        if ring == self.ring:
            return ()
        self.ring = ring
        for held in self._held.values():
            held.values = ()
        return tuple(held.shown for held in self._held.values() if held.shown is not None)

    def checked(self, delta: Delta) -> Delta:
        """Return a delta as the core may see it."""
        if self.ring is None:
            return delta
        if isinstance(delta, Upsert):
            shown = self._shown(delta.entity)
            if shown is None:
                return Delete(Migration.__name__, delta.entity.key)
            return delta if shown is delta.entity else Upsert(shown)
        if isinstance(delta, Delete):
            self._held.pop(f"{delta.kind} {delta.key}", None)
            return delta
        return self._all_checked(delta)

    def genuine(self, pod: Pod) -> Pod:
        """Return a pod from a request of kube-scheduler as the core may see it.

        It may be older than the one we observed: the watch decides which reservation is the newest.
        """
        if self.ring is None or labels.RESERVATION.isdisjoint(pod.annotations) or pod.node_name:
            return pod
        held = self._held.get(f"{Pod.__name__} {pod.key}")
        if held is not None and held.uid == pod.uid and held.values == _reservation_values(pod):
            fault = held.faults.get(Signed.RESERVATION)
        else:
            result = self._fault_of_reservation(pod)
            fault = result if isinstance(result, Fault) else None
        return pod if fault is None else _without_reservation(pod, fault)

    def reservation(self, key: PodKey, uid: Uid, notes: Mapping[str, str | None]) -> dict[str, str]:
        """Return the signature for the annotations of a reservation."""
        if self.ring is None:
            return {}
        statement = signatures.reservation(key.partition("/")[0], uid, notes)
        above = self._newest(f"{Pod.__name__} {key}", Signed.RESERVATION)
        return {labels.RESERVATION_SIGNATURE: self._signed(statement, above)}

    def records(self, owner: Owner, notes: Mapping[str, str | None]) -> Mapping[str, str | None]:
        """Return the signatures for records on an owner; None removes one."""
        if self.ring is None:
            return {}
        signed: dict[str, str | None] = {}
        for key, name in labels.RECORDS.items():
            if key not in notes:
                continue
            text = notes[key]
            statement = signatures.record(owner.namespace, owner.uid, key, text or "")
            above = self._newest(f"{Owner.__name__} {owner.key}", _RECORDS[key])
            signed[name] = None if text is None else self._signed(statement, above)
        return signed

    def migration(self, namespace: str, name: str, digest: str) -> Mapping[str, str]:
        """Return the signature for the spec of a Migration."""
        if self.ring is None:
            return {}
        statement = signatures.migration(namespace, name, digest)
        return {labels.SPEC_SIGNATURE: self._signed(statement, 0)}

    def refused_migrations(self) -> Iterator[tuple[Migration, Fault]]:
        """Yield the Migrations that do not verify, with their faults."""
        for held in self._held.values():
            if isinstance(held.shown, Migration) and (fault := held.faults.get(Signed.MIGRATION)):
                yield held.shown, fault

    def _newest(self, name: str, record: Signed) -> int:
        held = self._held.get(name)
        return 0 if held is None else held.newest.get(record, 0)

    def _signed(self, statement: tuple[str, ...], above: int) -> str:
        """Sign with a generation later than ours and than those of other replicas."""
        ring = self.ring
        assert ring is not None  # noqa: S101 - callers check it
        now = int(self.now_seconds() * 1e6)
        self._last = max(now, self._last + 1)
        return ring.sign(statement, max(self._last, above + 1)).text

    def _all_checked(self, delta: Replace) -> Replace:
        listed = {f"{delta.kind} {entity.key}" for entity in delta.entities}
        for name, held in tuple(self._held.items()):
            same = held.shown is not None and _source(held.shown) == delta.source
            if same and name not in listed:
                del self._held[name]
        shown = (self._shown(entity) for entity in delta.entities)
        return replace(delta, entities=tuple(entity for entity in shown if entity is not None))

    def _shown(self, entity: Entity) -> Entity | None:
        if isinstance(entity, Pod):
            return self._pod(entity)
        if isinstance(entity, Owner):
            return self._owner(entity)
        if isinstance(entity, Migration):
            return self._migration(entity)
        return entity

    def _pod(self, pod: Pod) -> Pod:
        name = f"{Pod.__name__} {pod.key}"
        if labels.RESERVATION.isdisjoint(pod.annotations):
            if name in self._held:
                self._forget_reservation(name, pod)
            return pod
        if pod.node_name is not None or pod.finished:
            self._held.pop(name, None)
            return pod
        held = self._of(name, pod)
        held.shown = pod
        values = _reservation_values(pod)
        if values != held.values:
            held.values = values
            self._judge(held, pod.key, {Signed.RESERVATION: self._fault_of_reservation(pod)})
        fault = held.faults.get(Signed.RESERVATION)
        return pod if fault is None else _without_reservation(pod, fault)

    def _fault_of_reservation(self, pod: Pod) -> Fault | int:
        assert self.ring is not None  # noqa: S101 - callers check it
        notes = pod.annotations
        statement = signatures.reservation(pod.namespace, pod.uid, notes)
        return self.ring.fault(statement, notes.get(labels.RESERVATION_SIGNATURE))

    def _forget_reservation(self, name: str, pod: Pod) -> None:
        """Invalidate the generation of a reservation that was removed from its pod."""
        held = self._of(name, pod)
        held.shown, held.values, held.faults = None, (), {}
        held.newest = {key: newest + 1 for key, newest in held.newest.items()}

    def _owner(self, owner: Owner) -> Owner:
        name = f"{Owner.__name__} {owner.key}"
        carried = [key for key in labels.RECORDS if key in owner.annotations]
        if not carried:
            if name in self._held:
                del self._held[name]
            return owner
        held = self._of(name, owner)
        held.shown = owner
        values = tuple(owner.annotations.get(k) for pair in labels.RECORDS.items() for k in pair)
        if values != held.values:
            held.values = values
            results = {_RECORDS[key]: self._fault_of_record(owner, key) for key in carried}
            self._judge(held, owner.key, results)
        if not held.faults:
            return owner
        wrong = {key for key in carried if _RECORDS[key] in held.faults}
        notes = {key: text for key, text in owner.annotations.items() if key not in wrong}
        return replace(owner, annotations=notes)

    def _fault_of_record(self, owner: Owner, key: str) -> Fault | int:
        assert self.ring is not None  # noqa: S101 - callers check it
        notes = owner.annotations
        statement = signatures.record(owner.namespace, owner.uid, key, notes[key])
        return self.ring.fault(statement, notes.get(labels.RECORDS[key]))

    def _migration(self, migration: Migration) -> Migration | None:
        held = self._of(f"{Migration.__name__} {migration.key}", migration)
        held.shown = migration
        values = (migration.digest, migration.signature)
        if values != held.values:
            held.values = values
            self._judge(held, migration.key, {Signed.MIGRATION: self._fault_of_spec(migration)})
        return None if held.faults else migration

    def _fault_of_spec(self, migration: Migration) -> Fault | int:
        assert self.ring is not None  # noqa: S101 - callers check it
        statement = signatures.migration(migration.namespace, migration.name, migration.digest)
        result = self.ring.fault(statement, migration.signature or None)
        if isinstance(result, Fault):
            return result
        return Fault.OLDER if migration.created_at - result / 1e6 > SIGNED_SECONDS else result

    def _of(self, name: str, entity: Pod | Owner | Migration) -> _Held:
        held = self._held.get(name)
        if held is None or held.uid != entity.uid:
            held = self._held[name] = _Held(entity.uid)
        return held

    def _judge(self, held: _Held, key: str, results: Mapping[Signed, Fault | int]) -> None:
        faults: dict[Signed, Fault] = {}
        for record, result in results.items():
            if isinstance(result, Fault):
                faults[record] = result
            elif result < held.newest.get(record, 0):
                faults[record] = Fault.OLDER
            else:
                held.newest[record] = result
        held.faults = faults
        for record, fault in faults.items():
            log.warning("%s: %s is not ours: %s", key, record.value, fault.value)
            self.refused(record, fault)
            if fault is Fault.UNKNOWN_KEY:
                self.unknown_key()


def _reservation_values(pod: Pod) -> tuple[str | None, ...]:
    return tuple(map(pod.annotations.get, _RESERVATION))


def _without_reservation(pod: Pod, fault: Fault) -> Pod:
    notes = {key: text for key, text in pod.annotations.items() if key not in labels.RESERVATION}
    return replace(pod, annotations=notes, reservation_refused=fault.value)


def _source(entity: Entity) -> str:
    return entity.collection if isinstance(entity, Owner) else type(entity).__name__

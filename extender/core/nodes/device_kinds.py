"""Which devices a request accepts: class, selectors and tolerations as one value, a kind."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from extender.core.expressions import evaluation, paths, syntax
from extender.core.expressions.errors import EvaluationError, UnsupportedError
from extender.core.expressions.evaluation import Scope, Subject
from extender.core.expressions.paths import Path
from extender.core.expressions.values import Quantity, Semver
from extender.core.nodes.feasibility import Tolerated
from extender.core.nodes.node_columns import HARD_EFFECTS
from shared.model import Toleration
from shared.objects.devices import Device, Version

MOST_WORK: Final = 16_384
"""Steps of one selector for all devices that differ in what it reads: 30 ms, once. Two thousand
serial numbers are compared with it. A selector that takes more is not modelled."""

MOST_SELECTORS: Final = 256
"""Selectors that are kept with their results; beyond it all are dropped."""


@dataclass(frozen=True)
class Kind:
    """Devices that a request accepts.

    Attributes:
        selectors: Expressions that all hold: those of the class, then those of the request.
        tolerations: Taints of devices that are accepted.
    """

    selectors: tuple[str, ...]
    tolerations: tuple[Toleration, ...] = ()

    def tolerates(self, device: Device) -> bool:
        """Return True if no taint keeps the device from such requests."""
        hard = [taint for taint in device.taints if taint.effect in HARD_EFFECTS]
        return not hard or Tolerated(self.tolerations).all(hard)


_Part = tuple[bool, str, str]
"""Of a capacity and not of an attribute; the name as drivers write it, in full and in short."""


class _Selector:
    """An expression for the devices of one driver: its tree, and what it reads of a device.

    Raises:
        UnsupportedError: It uses what we do not read.
    """

    def __init__(self, text: str, driver: str) -> None:
        self._results: dict[tuple[object, ...], bool | EvaluationError | UnsupportedError] = {}
        self._tree, self._driver, self._left = syntax.parse(text), driver, MOST_WORK
        read = paths.read_by(self._tree) - {("driver",)}
        self._whole = any(len(path) < len(("attributes", "domain", "name")) for path in read)
        self._parts: tuple[_Part, ...] = tuple(_part(path, driver) for path in sorted(read))
        if self._whole:
            self._parts = ()

    def holds(self, device: Device) -> bool:
        """Return True if the expression holds for a device.

        Raises:
            EvaluationError: It has no value.
            UnsupportedError: It uses what we do not read, or takes too much work.
        """
        seen = self._seen(device)
        result = self._results.get(seen)
        if result is None:
            if self._left <= 0:
                raise UnsupportedError(f"more than {MOST_WORK} steps for all devices")
            self._left -= 1
            result = self._results[seen] = self._result(device)
        if isinstance(result, bool):
            return result
        raise result

    def _seen(self, device: Device) -> tuple[object, ...]:
        """Return what the expression reads of a device, with types: True is equal to 1."""
        if self._whole:
            types = tuple(value.__class__ for _, value in device.attributes)
            return device.attributes, device.capacity, types
        values = [_value(device, part) for part in self._parts]
        return tuple((value.__class__, value) for value in values)

    def _result(self, device: Device) -> "bool | EvaluationError | UnsupportedError":
        try:
            scope = Scope(self._subject(device).variables())
            try:
                return evaluation.holds(self._tree, scope)
            finally:
                self._left -= scope.taken
        except (EvaluationError, UnsupportedError) as error:
            return error.with_traceback(None)

    def _subject(self, device: Device) -> Subject:
        """Return what the expression reads of a device as expressions see it.

        Raises:
            EvaluationError: It has a value that cannot be read.
        """
        names = {name for part in self._parts for name in part[1:]}
        return Subject(
            self._driver,
            tuple(
                (name, Semver.of(value.text) if isinstance(value, Version) else value)
                for name, value in device.attributes
                if self._whole or name in names
            ),
            tuple(
                (name, Quantity.of(text))
                for name, text in device.capacity
                if self._whole or name in names
            ),
        )


def _part(path: Path, driver: str) -> _Part:
    """Return where a value is; of a path that is too short it is not used."""
    kind, domain, name = (*path, "", "")[:3]
    full = f"{domain}/{name}"
    return kind == "capacity", full, name if domain == driver else full


def _value(device: Device, part: _Part) -> object:
    """Return what a device has there; of both names the last counts, as in ``Subject``."""
    of_capacity, full, short = part
    found: object = None
    for name, value in device.capacity if of_capacity else device.attributes:
        if name in {full, short}:
            found = value
    return found


@dataclass
class Selections:
    """Results of expressions, kept by what the expressions read of a device."""

    _read: dict[tuple[str, str], "_Selector | UnsupportedError"] = field(default_factory=dict)

    def accepts(self, kind: Kind, driver: str, device: Device) -> bool:
        """Return True if all selectors of the kind hold for a device.

        Raises:
            EvaluationError: kube-scheduler refuses the node, since a selector has no value.
            UnsupportedError: A selector uses what we do not read, or takes too much work.
        """
        return all(self._selector(text, driver).holds(device) for text in kind.selectors)

    def _selector(self, text: str, driver: str) -> _Selector:
        selector = self._read.get((text, driver))
        if selector is None:
            if len(self._read) >= MOST_SELECTORS:
                self._read.clear()
            selector = self._read[text, driver] = _read(text, driver)
        if isinstance(selector, UnsupportedError):
            raise selector
        return selector


def _read(text: str, driver: str) -> "_Selector | UnsupportedError":
    try:
        return _Selector(text, driver)
    except UnsupportedError as error:
        return error


@lru_cache(MOST_SELECTORS)
def attributes_read(text: str) -> frozenset[str] | None:
    """Return the attributes that an expression may read, as drivers write them; None for all."""
    try:
        read = paths.read_by(syntax.parse(text))
    except UnsupportedError:
        return frozenset()
    found = set[str]()
    for kind, *names in (path for path in read if path[:1] not in {("driver",), ("capacity",)}):
        if kind != "attributes" or len(names) < len(("domain", "name")):
            return None
        domain, name = names[:2]
        found |= {f"{domain}/{name}", name}
    return frozenset(found)

"""Which devices a request accepts: class, selectors and tolerations as one value, a kind."""

from dataclasses import dataclass, field
from typing import Final

from extender.core.expressions import evaluation, paths, syntax
from extender.core.expressions.errors import EvaluationError, UnsupportedError
from extender.core.expressions.evaluation import Subject
from extender.core.expressions.paths import Path
from extender.core.expressions.values import Quantity, Semver
from extender.core.nodes.feasibility import Tolerated
from extender.core.nodes.node_columns import HARD_EFFECTS
from shared.devices import Device, Version
from shared.model import Toleration

MOST_DIFFERENT: Final = 4096
"""Devices that differ in what one selector reads: a second of work. More are not modelled."""

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
        self.results: dict[tuple[object, ...], bool | EvaluationError | UnsupportedError] = {}
        self.tree = syntax.parse(text)
        read = paths.read_by(self.tree) - {("driver",)}
        self._whole = any(len(path) < len(("attributes", "domain", "name")) for path in read)
        self._parts: tuple[_Part, ...] = tuple(_part(path, driver) for path in sorted(read))
        if self._whole:
            self._parts = ()

    def seen(self, device: Device) -> tuple[object, ...]:
        """Return what the expression reads of a device."""
        if self._whole:
            return device.attributes, device.capacity
        return tuple(_value(device, part) for part in self._parts)


def _part(path: Path, driver: str) -> _Part:
    """Return where a value is; of a path that is too short it is not used."""
    kind, domain, name = (*path, "", "")[:3]
    full = f"{domain}/{name}"
    return kind == "capacity", full, name if domain == driver else full


def _value(device: Device, part: _Part) -> object:
    of_capacity, full, short = part
    for name, value in device.capacity if of_capacity else device.attributes:
        if name in {full, short}:
            return value
    return None


@dataclass
class Selections:
    """Results of expressions, kept by what the expressions read of a device."""

    _read: dict[tuple[str, str], "_Selector | UnsupportedError"] = field(default_factory=dict)

    def accepts(self, kind: Kind, driver: str, device: Device) -> bool:
        """Return True if all selectors of the kind hold for a device.

        Raises:
            EvaluationError: kube-scheduler refuses the node, since a selector has no value.
            UnsupportedError: A selector uses what we do not read.
        """
        return all(self._holds(text, driver, device) for text in kind.selectors)

    def _holds(self, text: str, driver: str, device: Device) -> bool:
        selector = self._read.get((text, driver))
        if selector is None:
            if len(self._read) >= MOST_SELECTORS:
                self._read.clear()
            selector = self._read[text, driver] = _read(text, driver)
        if isinstance(selector, UnsupportedError):
            raise selector
        seen = selector.seen(device)
        result = selector.results.get(seen)
        if result is None:
            if len(selector.results) >= MOST_DIFFERENT:
                raise UnsupportedError(f"it tells more than {MOST_DIFFERENT} devices apart")
            result = selector.results[seen] = _result(selector.tree, driver, device)
        if isinstance(result, bool):
            return result
        raise result


def _read(text: str, driver: str) -> "_Selector | UnsupportedError":
    try:
        return _Selector(text, driver)
    except UnsupportedError as error:
        return error


def _result(
    tree: syntax.Node, driver: str, device: Device
) -> "bool | EvaluationError | UnsupportedError":
    try:
        return evaluation.holds(tree, _subject(driver, device).variables())
    except (EvaluationError, UnsupportedError) as error:
        return error.with_traceback(None)


def _subject(driver: str, device: Device) -> Subject:
    """Return the device as expressions see it.

    Raises:
        EvaluationError: It has a value that cannot be read.
    """
    return Subject(
        driver,
        tuple(
            (name, Semver.of(value.text) if isinstance(value, Version) else value)
            for name, value in device.attributes
        ),
        tuple((name, Quantity.of(text)) for name, text in device.capacity),
    )

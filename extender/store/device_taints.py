"""Taints that DeviceTaintRules add to those that drivers write.

A rule that names neither a pool nor a device selects by driver: it means the same on all nodes that
are alike, so it is applied once to each group of them. Any other rule is of certain nodes.

Source:
    k8s.io/dynamic-resource-allocation v0.37.2, ``resourceslice/tracker``.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from extender.core.nodes.device_sets import DevicesOfNode
from shared.model import Taint
from shared.objects.devices import DeviceId, DeviceTaintRule

Added = tuple[tuple[int, Taint], ...]
"""Taints of one node's devices, by their place."""

NONE_ADDED: Final[Added] = ()


class TaintRules:
    """Some rules, by what they name."""

    def __init__(self, rules: Iterable[DeviceTaintRule] = ()) -> None:
        self._wide: list[DeviceTaintRule] = []
        self._narrow: dict[tuple[str, str], list[DeviceTaintRule]] = {}
        self._pools: set[str] = set()
        self._devices: set[str] = set()
        self._of_names: dict[tuple[str, str, str], tuple[Taint, ...]] = {}
        for rule in sorted((r for r in rules if r.selects), key=attrgetter("name")):
            if is_wide(rule):
                self._wide.append(rule)
            else:
                self._narrow.setdefault((rule.driver, rule.pool), []).append(rule)
                (self._pools if rule.pool else self._devices).add(rule.pool or rule.device)

    def narrow(self, order: Sequence[DeviceId]) -> Added:
        """Return the taints of rules that name a pool or a device, for the devices of a node."""
        if not self._narrow:
            return NONE_ADDED
        pools, devices = self._pools, self._devices
        return tuple(
            (place, taint)
            for place, identity in enumerate(order)
            if identity.device in devices or identity.pool in pools
            for taint in self._of_device(identity)
        )

    def _of_device(self, identity: DeviceId) -> tuple[Taint, ...]:
        driver, pool = identity.driver, identity.pool
        if pool not in self._pools:
            pool = ""  # devices of one name are alike
        key = driver, pool, identity.device
        found = self._of_names.get(key)
        if found is None:
            found = self._of_names[key] = tuple(
                rule.taint
                for place in dict.fromkeys(((driver, pool), (driver, ""), ("", pool), ("", "")))
                for rule in self._narrow.get(place, ())
                if rule.device in {"", identity.device}
            )
        return found

    def applied(self, devices: DevicesOfNode, narrow: Added) -> DevicesOfNode:
        """Return the devices of a node with the taints of all rules.

        Args:
            devices: As their drivers publish them.
            narrow: See there.
        """
        if not self._wide and not narrow:
            return devices
        added = [[rule.taint for rule in self._wide if _of(rule, i.driver)] for i, _ in devices]
        for place, taint in narrow:
            added[place].append(taint)
        return tuple(
            (identity, replace(device, taints=(*device.taints, *more)) if more else device)
            for (identity, device), more in zip(devices, added, strict=True)
        )


def is_wide(rule: DeviceTaintRule) -> bool:
    """Return True if a rule selects by driver, or all devices."""
    return not rule.pool and not rule.device


def _of(rule: DeviceTaintRule, driver: str) -> bool:
    return rule.driver in {"", driver}

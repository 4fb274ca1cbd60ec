"""The templates of the chart: one file for each file of deploy/ that has objects."""

import copy
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from release.chart import parts
from release.chart.conditions import Variant
from release.chart.kustomized import DEPLOY, Key, Manifest, Source
from release.chart.merging import Form, Slot, merge
from release.chart.parts import Part
from release.chart.printing import Printer, escaped
from release.chart.values import VALUES, Place, Value
from release.errors import ReleaseError

HEAD: Final = (
    "{{/* Made by `python -m release chart` from deploy/%s; change that file instead. */}}"
)
SETTINGS: Final = Path("base/settings.yaml")
"""For the ConfigMaps, which kustomize generates."""
_PART_OF: Final = "app.kubernetes.io/part-of: shuntyard"
_ITEM: Final = re.compile(r"(\w+)\[([\w-]+)\]")


def templates(sources: Mapping[Key, Source], shipped: dict[str, Any]) -> dict[str, str]:
    """Return the generated templates by their path below ``templates/``.

    Args:
        sources: Documents of deploy/ by object.
        shipped: Filled with the value that the manifests have, for each path of `VALUES`.

    Raises:
        ReleaseError: A value has no place in any object.
    """
    order = {key: number for number, key in enumerate(sources)}
    made: dict[Path, list[_Object]] = {}
    for part in parts.PARTS:
        for key, found in part.objects().items():
            source = sources.get(key)
            file = source.file if source else _file_of(key)
            made.setdefault(file, []).append(_Object(part, key, found, source))
    for objects in made.values():
        objects.sort(key=lambda one: order.get(one.key, 0))
    texts = {file: list(_documents(objects, shipped)) for file, objects in made.items()}
    missing = [one.path for one in VALUES if one.places and one.path not in shipped]
    if missing:
        raise ReleaseError(f"values without a place in the manifests: {', '.join(missing)}")
    return {
        _template(file): "\n".join([HEAD % _origin(file), *lines]) + "\n"
        for file, lines in sorted(texts.items())
    }


def _file_of(key: Key) -> Path:
    if key.name.startswith("shuntyard-dashboard-"):
        return Path("overlays/monitoring/dashboards.yaml")
    return SETTINGS


def _origin(file: Path) -> Path:
    return file if (DEPLOY / file).is_file() else file.parent


def _template(file: Path) -> str:
    """Return base/x.yaml as x.yaml, components/gate/x.yaml as gate/x.yaml."""
    return str(Path(*file.parts[1:]))


@dataclass(frozen=True)
class _Object:
    part: Part
    key: Key
    found: dict[Variant, Manifest]
    source: Source | None

    def begins(self) -> Iterator[str]:
        """Yield the actions under which the object is there."""
        presence = self.part.switches.condition(frozenset(self.found), self.part.switches.all)
        guard = [one for one in (self.part.condition, presence, parts.condition(self.key)) if one]
        if guard:
            both = guard[0] if len(guard) == 1 else f"and ({') ('.join(guard)})"
            yield f"{{{{- if {both} }}}}"
        if parts.is_repeated(self.key):
            yield "{{- range $namespace := $.Values.storage.namespaces }}"

    def lines(self, shipped: dict[str, Any]) -> Iterator[str]:
        """Yield the document: as it is written if nothing in it depends on values."""
        first = next(iter(self.found.values()))
        same = all(one == first for one in self.found.values())
        written = _with_label(self.source.text) if self.source else ""
        is_written = same and bool(written) and yaml.safe_load(written) == first
        changed = [self._fill(manifest, shipped) for manifest in self.found.values()]
        if is_written and not any(changed):
            yield from escaped(written).rstrip("\n").splitlines()
            return
        printer = Printer(self.part.switches)
        yield from printer.lines(merge(self.found), 0, frozenset(self.found))

    def _fill(self, manifest: Manifest, shipped: dict[str, Any]) -> bool:
        """Put slots into the object; return True if there was a place for one."""
        before = copy.deepcopy(manifest)
        parts.fill(self.key, manifest)
        for value in VALUES:
            for place in value.places:
                if place.kind == self.key.kind and place.name in {"*", self.key.name}:
                    _put(manifest, value, place, shipped)
        return manifest != before


def _put(manifest: Manifest, value: Value, place: Place, shipped: dict[str, Any]) -> None:
    """Put a slot where the value goes; nothing if the object has no such place."""
    *steps, last = place.path.split(".", 1 if place.path.startswith("data.") else -1)
    at: Any = manifest
    for step in steps:
        item = _ITEM.fullmatch(step)
        if item:
            at = next((one for one in at.get(item[1], ()) if one["name"] == item[2]), None)
        else:
            at = at.setdefault(step, {}) if place.form is Form.SPREAD else at.get(step)
        if at is None:
            return
    shipped.setdefault(value.path, at.get(last))
    name = f"*{value.path}" if last == "*" else last
    at[name] = Slot(place.text or value.expression, place.form)


def _documents(objects: Sequence[_Object], shipped: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a file: objects under the same conditions are together in one block."""
    for begins, group in itertools.groupby(objects, key=lambda one: tuple(one.begins())):
        yield from begins
        for one in group:
            yield "---"
            yield from one.lines(shipped)
        yield from ["{{- end }}"] * len(begins)


def _with_label(text: str) -> str:
    """Return a document with the label that kustomize adds to every object."""
    if _PART_OF in text:
        return text
    if "\n  labels: {" in text:
        return text.replace("\n  labels: {", f"\n  labels: {{{_PART_OF}, ", 1)
    if "\n  labels:\n" in text:
        return text.replace("\n  labels:\n", f"\n  labels:\n    {_PART_OF}\n", 1)
    return text.replace("\nmetadata:\n", f"\nmetadata:\n  labels: {{{_PART_OF}}}\n", 1)

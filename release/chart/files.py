"""All generated files of the chart: Chart.yaml, values, their schema, the README, the templates."""

import functools
import json
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from release.chart.kustomized import DEPLOY, sources
from release.chart.templates import templates
from release.chart.values import MANIFEST, VALUES, Value
from release.images import placed
from release.locks import ROOT

CHART: Final = DEPLOY / "chart"
DASHBOARDS: Final = "overlays/monitoring/dashboards"
BY_HAND: Final = (
    ".helmignore",
    "templates/NOTES.txt",
    "templates/_names.tpl",
    "templates/tests/ready.yaml",
    "templates/viewers.yaml",
)
"""Files of the chart that no program writes."""
IMAGES: Final = {"shuntyard-extender": "extender", "shuntyard-agent": "agent"}
"""The program whose image each section of the values names."""
_WIDTH: Final = 100
_MADE: Final = "Made by `python -m release chart`"
_TABLE: Final = re.compile(r"(?<=<!-- values -->\n).*(?=<!-- end of values -->)", re.DOTALL)
"""The part of the README that is made here; the rest is written by hand."""


def files(defaults: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the text of each generated file by its path in the chart.

    Args:
        defaults: Values that differ from those of the source tree, such as images by digest.

    Raises:
        ReleaseError: kubectl is missing, or a value has no place in the manifests.
    """
    shipped: dict[str, Any] = {}
    found = {f"templates/{path}": text for path, text in templates(sources(), shipped).items()}
    values = {one.path: _default(one, shipped) for one in VALUES} | dict(defaults or {})
    found["templates/_settings.tpl"] = _settings()
    for file in sorted((DEPLOY / DASHBOARDS).glob("*.json")):
        found[f"dashboards/{file.name}"] = file.read_text()
    found["Chart.yaml"] = _chart()
    found["values.yaml"] = "".join(_values(values))
    found["values.schema.json"] = json.dumps(_schema(), indent=2) + "\n"
    found["README.md"] = _readme((CHART / "README.md").read_text(), values)
    return found


@functools.cache
def current() -> Mapping[str, str]:
    """Return ``files()``, made once: it takes seconds, and the source tree stays as it is."""
    return files()


def stale(chart: Path = CHART) -> list[str]:
    """Return the generated files that are not current, too many or missing."""
    wanted = current()
    return sorted(
        name
        for name in wanted.keys() | _existing(chart).keys()
        if wanted.get(name) != _existing(chart).get(name)
    )


def write(chart: Path = CHART) -> list[str]:
    """Write the generated files that are not current; return their names."""
    wanted = current()
    changed = stale(chart)
    for name in changed:
        file = chart / name
        if name in wanted:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(wanted[name])
        else:
            file.unlink()
    return changed


def copy(directory: Path, images: Mapping[str, str]) -> None:
    """Write the chart of a release, whose defaults are its images by digest.

    Args:
        directory: Where the chart is written.
        images: Our programs and where each image is, by digest.

    Raises:
        ReleaseError: An image has no digest.
    """
    defaults: dict[str, str] = {}
    for program, key in IMAGES.items():
        name, digest = placed(program, images)
        defaults |= {f"{key}.image.repository": name, f"{key}.image.digest": digest}
    texts = files(defaults) | {name: (CHART / name).read_text() for name in BY_HAND}
    for name, text in texts.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def _existing(chart: Path) -> dict[str, str]:
    found = {str(one.relative_to(chart)): one for one in chart.rglob("*") if one.is_file()}
    return {name: file.read_text() for name, file in found.items() if name not in BY_HAND}


def _default(value: Value, shipped: Mapping[str, Any]) -> Any:
    return shipped[value.path] if value.default is MANIFEST else value.default


def _chart() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    content = {
        "apiVersion": "v2",
        "name": "shuntyard",
        "description": "Gangs, one queue, moves and prices for training jobs on Kubernetes",
        "type": "application",
        "version": project["version"],
        "appVersion": project["version"],
        "kubeVersion": ">=1.33.0-0",
        "home": "https://shuntyard.io",
        "keywords": ["scheduler", "training", "gpu", "gang scheduling", "batch"],
        "annotations": {"artifacthub.io/license": project["license"]},
    }
    return f"# {_MADE}.\n{yaml.safe_dump(content, sort_keys=False)}"


def _settings() -> str:
    base = DEPLOY / "base"
    attached = (DEPLOY / "overlays/attached/settings.yaml").read_text()
    texts = {
        "agent": (base / "settings/agent.yaml").read_text(),
        "kubeScheduler": (base / "scheduler.yaml").read_text(),
        "extender": (
            f"{{{{- if $.Values.attached.enabled -}}}}\n{attached}{{{{- else -}}}}\n"
            f"{(base / 'settings/extender.yaml').read_text()}{{{{- end }}}}\n"
        ),
    }
    lines = [f"{{{{/* {_MADE} from the files of settings in deploy/. */}}}}\n"]
    for program, text in texts.items():
        shipped, settings = f"shuntyard.{program}.shipped", f"shuntyard.{program}.settings"
        lines += [
            f'{{{{- define "{shipped}" -}}}}\n{text}{{{{- end }}}}\n\n',
            f'{{{{- define "{settings}" -}}}}\n',
            f"{{{{- with $.Values.{program}.settings }}}}\n",
            f'{{{{- toYaml (mergeOverwrite (include "{shipped}" $ | fromYaml) .) }}}}\n',
            f'{{{{- else }}}}\n{{{{- include "{shipped}" $ }}}}\n',
            "{{- end }}\n{{- end }}\n\n",
        ]
    return "".join(lines)


def _values(values: Mapping[str, Any]) -> Iterator[str]:
    yield f"# {_MADE}; change release/chart/values.py or the manifests instead.\n"
    open_path: tuple[str, ...] = ()
    for value in VALUES:
        *folders, name = value.path.split(".")
        for depth, folder in enumerate(folders):
            if open_path[: depth + 1] != tuple(folders[: depth + 1]):
                yield f"\n{'  ' * depth}{folder}:\n" if depth == 0 else f"{'  ' * depth}{folder}:\n"
        open_path = tuple(folders)
        blank = "  " * len(folders)
        yield "\n" if not folders else ""
        yield (
            textwrap.fill(
                value.meaning, _WIDTH, initial_indent=f"{blank}# ", subsequent_indent=f"{blank}# "
            )
            + "\n"
        )
        text = yaml.safe_dump({name: values[value.path]}, sort_keys=False, width=100)
        yield "".join(f"{blank}{line}\n" for line in text.splitlines())


def _schema() -> dict[str, Any]:
    root: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": _MADE,
        **_closed(),
    }
    # Helm hands over what charts that contain this one set for all of their parts.
    root["properties"]["global"] = {"type": "object"}
    for value in VALUES:
        place = root
        *folders, name = value.path.split(".")
        for folder in folders:
            place = place["properties"].setdefault(folder, _closed())
        place["properties"][name] = {**value.schema, "description": value.meaning}
    return root


def _closed() -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def _readme(text: str, values: Mapping[str, Any]) -> str:
    rows = "".join(
        f"| `{one.path}` | {_cell(values[one.path])} | {one.meaning} |\n" for one in VALUES
    )
    table = f"\n| value | default | meaning |\n|---|---|---|\n{rows}\n"
    return _TABLE.sub(lambda _: table, text)


def _cell(default: Any) -> str:
    text = json.dumps(default, ensure_ascii=False)
    return (
        f"`{text}`" if len(text) <= len('"/var/lib/shuntyard/volume"') + 40 else "see values.yaml"
    )

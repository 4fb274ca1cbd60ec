"""What all checks look at: where Shuntyard should be, and what its settings say."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import yaml

from cli.doctor.reading import Object, Reader
from cli.errors import UnreadableError
from cli.service import Service
from shared import labels
from shared.kube import paths

DAEMON_SETS: Final = "/apis/apps/v1/daemonsets"
AGENTS_NAMESPACE: Final = "shuntyard-agents"
AGENT: Final = "shuntyard-agent"
INSTALL: Final = "apply your kustomization again: docs/install.md"
SETTINGS_KEY: Final = "extender.yaml"
SCHEDULER_KEY: Final = "scheduler.yaml"


@dataclass(frozen=True)
class Settings:
    """The extender's settings file, as far as it says something; defaults are the extender's."""

    sections: Object

    def of(self, section: str, key: str, default: Any) -> Any:
        """Return one value."""
        found = self.sections.get(section)
        value = found.get(key) if isinstance(found, dict) else None
        return default if value is None else value

    @property
    def scheduler_name(self) -> str:
        """Whose pods are ours."""
        return str(self.of("scheduler", "scheduler_name", labels.SCHEDULER_NAME))

    @property
    def lease(self) -> tuple[str, str]:
        """Namespace and name of the Lease that says who acts."""
        namespace = self.of("lease", "namespace", "kube-system")
        return str(namespace), str(self.of("lease", "name", labels.SCHEDULER_NAME))


@dataclass
class Site:
    """See the module.

    Attributes:
        service: Of the read API; the extender is in its namespace, under its name.
        release: Of this command.
    """

    reader: Reader
    service: Service
    release: str = ""

    @property
    def namespace(self) -> str:
        """Where the extender is."""
        return self.service.namespace

    @cached_property
    def deployment(self) -> Object | None:
        """The extender's Deployment; None if there is none."""
        return self.reader.get(
            paths.namespaced(paths.DEPLOYMENTS, self.namespace, self.service.name)
        )

    @cached_property
    def daemon_set(self) -> Object | None:
        """The agents' DaemonSet; None if there is none."""
        return self.reader.get(paths.namespaced(DAEMON_SETS, AGENTS_NAMESPACE, AGENT))

    @cached_property
    def settings(self) -> Settings:
        """What the extender is told; the defaults where there is no Deployment to ask."""
        sections = document(self._file(SETTINGS_KEY) or "", SETTINGS_KEY)
        for section, key, value in _variables(self.deployment or {}):
            said = sections.get(section)
            sections[section] = {**(said if isinstance(said, dict) else {}), key: value}
        return Settings(sections)

    @cached_property
    def scheduler_config(self) -> Object | None:
        """kube-scheduler's configuration; None if it does not run in the same pod."""
        text = self._file(SCHEDULER_KEY)
        return None if text is None else document(text, SCHEDULER_KEY)

    def _file(self, key: str) -> str | None:
        """Return a file out of the ConfigMaps that the Deployment mounts."""
        for name in mounted(self.deployment or {}, "configMap", "name"):
            found = self.reader.get(paths.namespaced(paths.CONFIG_MAPS, self.namespace, name))
            data = (found or {}).get("data") or {}
            if key in data:
                return str(data[key])
        return None


def document(text: str, name: str) -> Object:
    """Return a YAML document.

    Raises:
        UnreadableError: It is none.
    """
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UnreadableError(f"{name} is no YAML: {error}") from error
    if found is not None and not isinstance(found, dict):
        raise UnreadableError(f"{name} holds no sections")
    return found or {}


def mounted(workload: Object, kind: str, key: str) -> Iterator[str]:
    """Yield the names of what a workload's pods mount, e.g. of ConfigMaps."""
    for volume in pod_spec(workload).get("volumes") or ():
        if kind in volume:
            yield volume[kind][key]


def containers(workload: Object) -> dict[str, str]:
    """Return the images of a workload's containers by name."""
    return {one["name"]: one["image"] for one in pod_spec(workload).get("containers") or ()}


def _variables(workload: Object) -> Iterator[tuple[str, str, Any]]:
    """Yield section, key and value of the settings that are variables: they win over the file."""
    for container in pod_spec(workload).get("containers") or ():
        for variable in container.get("env") or ():
            prefix, _, path = str(variable["name"]).lower().partition("__")
            section, _, key = path.partition("__")
            if prefix == "shuntyard" and key and variable.get("value"):
                yield section, key, yaml.safe_load(variable["value"])


def pod_spec(workload: Object) -> Object:
    """Return ``spec.template.spec``."""
    template = (workload.get("spec") or {}).get("template") or {}
    return template.get("spec") or {}

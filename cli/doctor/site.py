"""The installation that all checks look at: its places, workloads and settings."""

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

SCHEDULER: Final = "kube-scheduler"
"""Its container in the extender's pod."""
SECRETS: Final = "/api/v1/secrets"
DAEMON_SETS: Final = "/apis/apps/v1/daemonsets"
AGENTS_NAMESPACE: Final = "shuntyard-agents"
AGENT: Final = "shuntyard-agent"
INSTALL: Final = "apply your kustomization again, or `helm upgrade`: docs/install.md"
SETTINGS_KEY: Final = "extender.yaml"
SCHEDULER_KEY: Final = "scheduler.yaml"


@dataclass(frozen=True)
class Settings:
    """The extender's settings file; for what it leaves out the caller knows the default."""

    sections: Object

    def of(self, section: str, key: str, default: Any) -> Any:
        """Return one value."""
        values = self.sections.get(section)
        value = values.get(key) if isinstance(values, dict) else None
        return default if value is None else value

    @property
    def scheduler_name(self) -> str:
        """The ``schedulerName`` of our pods."""
        return str(self.of("scheduler", "scheduler_name", labels.SCHEDULER_NAME))

    @property
    def lease(self) -> tuple[str, str]:
        """Namespace and name of the Lease that elects the leader."""
        namespace = self.of("lease", "namespace", "kube-system")
        return str(namespace), str(self.of("lease", "name", labels.SCHEDULER_NAME))


@dataclass
class Site:
    """An installation, read when a check needs it.

    Attributes:
        service: Of the read API; the extender's Deployment has its namespace and name.
        release: Of this command.
    """

    reader: Reader
    service: Service
    release: str = ""

    @property
    def namespace(self) -> str:
        """Namespace of the extender."""
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
        """The extender's settings; empty without a Deployment."""
        sections = document(self._file(SETTINGS_KEY) or "", SETTINGS_KEY)
        for section, key, value in _variables(self.deployment or {}):
            values = sections.get(section)
            sections[section] = {**(values if isinstance(values, dict) else {}), key: value}
        return Settings(sections)

    @cached_property
    def scheduler_config(self) -> Object | None:
        """kube-scheduler's configuration; None if it does not run in the same pod."""
        text = self._file(SCHEDULER_KEY)
        return None if text is None else document(text, SCHEDULER_KEY)

    def _file(self, key: str) -> str | None:
        """Return a file of the ConfigMaps that the Deployment mounts."""
        for name in mounted(self.deployment or {}, "configMap", "name"):
            config_map = self.reader.get(paths.namespaced(paths.CONFIG_MAPS, self.namespace, name))
            data = (config_map or {}).get("data") or {}
            if key in data:
                return str(data[key])
        return None


def document(text: str, name: str) -> Object:
    """Return a YAML document.

    Raises:
        UnreadableError: It is not YAML, or not a mapping.
    """
    try:
        sections = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UnreadableError(f"{name} is not YAML: {error}") from error
    if sections is not None and not isinstance(sections, dict):
        raise UnreadableError(f"{name} is not a mapping of sections")
    return sections or {}


def mounted(workload: Object, kind: str, key: str) -> Iterator[str]:
    """Yield the names of the volumes of one kind that a workload's pods mount."""
    for volume in pod_spec(workload).get("volumes") or ():
        if kind in volume:
            yield volume[kind][key]


def containers(workload: Object) -> dict[str, str]:
    """Return the images of a workload's containers by name."""
    specs = pod_spec(workload).get("containers") or ()
    return {container["name"]: container["image"] for container in specs}


def _variables(workload: Object) -> Iterator[tuple[str, str, Any]]:
    """Yield section, key and value of settings in variables, which win over the file."""
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

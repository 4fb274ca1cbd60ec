"""Which folders of deploy/ make which part of the chart, and on which values it depends."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from release.chart.conditions import Switches, Variant
from release.chart.kustomized import Folders, Key, Manifest, rendered
from release.chart.merging import Form, Slot

_BASE: Final = "base"
_ATTACHED: Final = "overlays/attached"
_CERT_MANAGER: Final = "components/cert-manager"


@dataclass(frozen=True)
class Part:
    """Objects of the chart that are made together.

    Attributes:
        switches: Values that choose between variants.
        folders: What each variant is made of.
        condition: When the part is there at all; "" for always.
    """

    switches: Switches
    folders: Mapping[Variant, Folders]
    condition: str = ""

    def objects(self) -> dict[Key, dict[Variant, Manifest]]:
        """Return each object in each variant that has it."""
        found: dict[Key, dict[Variant, Manifest]] = {}
        for variant, folders in self.folders.items():
            for key, manifest in rendered(folders).items():
                found.setdefault(key, {})[variant] = copy.deepcopy(manifest)
        return found


def _plain(folders: Folders, condition: str) -> Part:
    return Part(Switches(()), {(): folders}, condition)


PARTS: Final = (
    Part(
        Switches(("$.Values.attached.enabled", "$.Values.certManager.enabled")),
        {
            (attached, managed): Folders(
                (_ATTACHED if attached else _BASE,), (_CERT_MANAGER,) if managed else ()
            )
            for attached in (False, True)
            for managed in (False, True)
        },
    ),
    Part(
        Switches(('eq $.Values.storage.kind "nfs"',)),
        {(False,): Folders(("overlays/demo-pv",)), (True,): Folders(("overlays/nfs",))},
        'ne $.Values.storage.kind "existing"',
    ),
    _plain(Folders((), ("components/gate",)), 'eq (include "shuntyard.gate" $) "true"'),
    _plain(Folders((), ("components/critical-quota",)), "$.Values.criticalQuota.enabled"),
    _plain(Folders(("overlays/monitoring",)), "$.Values.monitoring.enabled"),
)

Test = Callable[[Key], bool]
_OF_OBJECTS: Final[tuple[tuple[Test, str], ...]] = (
    (lambda key: key.kind == "NetworkPolicy", "$.Values.networkPolicies.enabled"),
    (lambda key: key.kind == "CustomResourceDefinition", "$.Values.crds.enabled"),
    (
        lambda key: key == ("Namespace", "", "shuntyard-system"),
        'and $.Values.namespaces.create (ne $.Release.Namespace "shuntyard-system")',
    ),
    (lambda key: key.kind == "Namespace", "$.Values.namespaces.create"),
)


def condition(key: Key) -> str:
    """Return when an object is there, beside the condition of its part; "" for always."""
    return next((text for fits, text in _OF_OBJECTS if fits(key)), "")


def fill(key: Key, manifest: Manifest) -> None:
    """Put slots into an object that no single value describes."""
    metadata = manifest["metadata"]
    if key.kind == "ConfigMap" and key.name.startswith("shuntyard-dashboard-"):
        file = f"dashboards/{key.name.removeprefix('shuntyard-dashboard-')}.json"
        (name,) = manifest["data"]
        manifest["data"] = {name: Slot(f'$.Files.Get "{file}"', Form.LITERAL)}
    elif key.kind == "CustomResourceDefinition":
        keep = '(include "shuntyard.keep" $ | fromYaml)'
        metadata["annotations"] = Slot(keep, Form.OPTIONAL)
    elif key == ("RoleBinding", "kube-system", "shuntyard-scheduler-lease"):
        for subject in manifest["subjects"]:
            if subject["kind"] == "User":
                subject["name"] = Slot("{{ $.Values.attached.user | quote }}")
    elif key.kind in {"Deployment", "DaemonSet"}:
        program = "agent" if key.kind == "DaemonSet" else "extender"
        annotations = manifest["spec"]["template"]["metadata"].setdefault("annotations", {})
        text = f'{{{{ include "shuntyard.{program}.checksum" $ }}}}'
        annotations["checksum/settings"] = Slot(text)
    elif key.kind in {"PersistentVolume", "PersistentVolumeClaim"}:
        _fill_storage(key, manifest)


def is_repeated(key: Key) -> bool:
    """True for an object that is there once for each namespace of jobs."""
    return key.kind.startswith("PersistentVolume") and "default" in {
        key.namespace,
        key.name.split("-")[1],
    }


_NAMESPACE: Final = "{{ $namespace }}"


def _fill_storage(key: Key, manifest: Manifest) -> None:
    spec = manifest["spec"]
    if "nfs" in spec:
        server = '{{ required "storage.nfs.server: expected a host name or address" '
        spec["nfs"] = {
            "server": Slot(server + "$.Values.storage.nfs.server | quote }}"),
            "path": Slot("{{ $.Values.storage.nfs.path | quote }}"),
        }
        spec["mountOptions"] = Slot("$.Values.storage.nfs.mountOptions", Form.OPTIONAL)
    if "hostPath" in spec:
        spec["hostPath"]["path"] = Slot("{{ $.Values.storage.directory.path | quote }}")
    if is_repeated(key):
        for place, name, value in _names(manifest):
            place[name] = Slot(value.replace("default", _NAMESPACE))


def _names(manifest: Manifest) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield the fields that name the namespace of jobs: the mapping, the field, its value."""
    spec = manifest["spec"]
    for place in (manifest["metadata"], spec, spec.get("claimRef", {})):
        for name in ("name", "namespace", "volumeName"):
            if "default" in str(place.get(name, "")):
                yield place, name, place[name]

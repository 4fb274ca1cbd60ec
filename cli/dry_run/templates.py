"""Pod templates inside any object, found by their shape."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

Document = dict[str, Any]


@dataclass(frozen=True)
class Template:
    """A pod template inside an object.

    Attributes:
        body: ``metadata`` and ``spec``; changes to it change the object.
        claims: Names of volumes that a StatefulSet or similar owner adds to each pod.
    """

    body: Document
    claims: tuple[str, ...] = ()

    @property
    def key(self) -> bytes:
        """Equal for equal templates."""
        return msgspec.json.encode((self.body, self.claims), order="deterministic")

    def pod(self, name: str, namespace: str) -> Document:
        """Return a pod of the template; the API server completes its name."""
        meta, spec = self.body.get("metadata") or {}, self.body["spec"]
        volumes = [{"name": claim, "emptyDir": {}} for claim in self.claims]
        added = {"volumes": [*(spec.get("volumes") or ()), *volumes]} if volumes else {}
        kept = {key: meta[key] for key in ("labels", "annotations") if meta.get(key)}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**kept, "generateName": f"{name[:40]}-", "namespace": namespace},
            "spec": {**spec, **added},
        }

    def take_over(self, pod: Document) -> None:
        """Write the API server's version of a pod back to its template."""
        meta, spec = pod.get("metadata") or {}, pod["spec"]
        mine = dict(self.body.get("metadata") or {})
        for key in ("labels", "annotations"):
            if meta.get(key):
                mine[key] = meta[key]
        if self.claims:
            volumes = spec.get("volumes") or ()
            spec = {**spec, "volumes": [v for v in volumes if v["name"] not in self.claims]}
        self.body["metadata"], self.body["spec"] = mine, spec


def find(document: Document) -> Iterator[Template]:
    """Yield the pod templates of an object; a Pod has none."""
    stack: list[tuple[Any, tuple[str, ...]]] = [(value, ()) for value in document.values()]
    if document.get("kind") == "Pod":
        return
    while stack:
        value, claims = stack.pop()
        if isinstance(value, list):
            stack += [(item, claims) for item in reversed(value)]
        elif isinstance(value, dict):
            if _is_template(value):
                yield Template(value, claims)
                continue
            below = tuple(_names(value.get("volumeClaimTemplates")))
            stack += [(item, below) for item in reversed(value.values())]


def _is_template(value: Document) -> bool:
    spec = value.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("containers"), list):
        return False
    meta = value.get("metadata")
    return meta is None or isinstance(meta, dict)


def _names(claims: Any) -> Iterator[str]:
    for claim in claims if isinstance(claims, list) else ():
        meta = claim.get("metadata") if isinstance(claim, dict) else None
        name = meta.get("name") if isinstance(meta, dict) else None
        if isinstance(name, str):
            yield name

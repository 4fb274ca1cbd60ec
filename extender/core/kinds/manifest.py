"""The manifest of a job, as a kind reads it to find the pods that its controller would make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from shared.errors import InputError
from shared.model import Owner, OwnerReference

_EXCERPT = 60

T = TypeVar("T")


class Head(Struct, rename="camel"):
    """Kind and version of an object; ``items`` are the objects of a ``List``."""

    kind: str
    api_version: str
    items: list[Raw] | None = None

    @property
    def group(self) -> str:
        """API group; empty for the core's."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""


class Meta(Struct, rename="camel"):
    """``metadata``."""

    name: str = ""
    generate_name: str = ""
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Template(Struct):
    """A pod template."""

    spec: dict[str, Any]
    metadata: Meta = msgspec.field(default_factory=Meta)


class Replicas(Struct):
    """A pod template and how many pods are made of it."""

    template: Template
    replicas: int = 1


@dataclass(frozen=True)
class Part:
    """Pods of one template.

    Attributes:
        name: Name of the pods, followed by their number if they have a controller.
        count: How many pods.
        controller: Controller of the pods; None if they have none.
        labels: Labels that the controller adds to all of them.
        index: Label with the number of each; empty where the controller writes none.
    """

    name: str
    count: int
    template: Template
    controller: OwnerReference | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    index: str = ""


class Created(NamedTuple):
    """The pods and owners that a manifest would become."""

    parts: list[Part]
    owners: list[Owner]


class Tally(Protocol):
    """Counts the pods and Jobs of the manifests of one request, and refuses too many."""

    def add_pods(self, count: int, field: str) -> None:
        """Count pods of one template.

        Raises:
            InputError: They are too many.
        """

    def add_jobs(self, jobs: int, pods_of_each: int, field: str) -> None:
        """Count Jobs with so many pods each.

        Raises:
            InputError: They are too many.
        """


@dataclass(frozen=True)
class Manifest:
    """A manifest of a kind that is understood.

    Attributes:
        head: Kind and version.
        spec: Its ``spec``, read by kind.
        name: Its name, or a placeholder for a generated one.
        meta: Its metadata as written.
        tally: Counts what is made of it and of the manifests before it.
        owner: Returns the object as it would be observed, or raises ``InputError``.
    """

    head: Head
    spec: Raw
    name: str
    meta: Meta
    tally: Tally
    owner: Callable[[], Owner]

    @property
    def title(self) -> str:
        """Kind and name, for messages."""
        return f"{self.head.kind} {self.name}"

    def spec_as(self, kind: type[T]) -> T:
        """Return its spec as a type.

        Raises:
            InputError: It cannot be read so.
        """
        return decode(kind, self.spec, self.title, "$.spec")

    def created(self, parts: list[Part], owners: list[Owner]) -> Created:
        """Return what it would become, after its pods are counted.

        Raises:
            InputError: They are too many.
        """
        for part in parts:
            self.tally.add_pods(part.count, self.title)
        return Created(parts, owners)


def reference(owner: Owner) -> OwnerReference:
    """Return the controller reference that pods of the owner would have."""
    return OwnerReference(owner.api_version, owner.kind, owner.name, owner.uid)


def uid(*parts: str) -> str:
    """Return a uid that no object of a cluster has."""
    return "/".join(("what-if", *parts))


def decode(kind: type[T], data: bytes | Raw, what: str, at: str = "$") -> T:
    """Return JSON as a type; ``what`` names it in errors, ``at`` is the path of the data.

    Raises:
        InputError: It cannot be read so; the text has the path of the field.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except ValueError as error:  # no such JSON, or no UTF-8
        text = str(error).replace("`$", f"`{at}")
        problem = text if "`$" in text or at == "$" else f"{text} - at `{at}`"
        raise InputError(what, excerpt(bytes(data)), f"readable: {problem}") from error


def excerpt(data: bytes) -> str:
    """Return the beginning of a document, for messages."""
    return data[:_EXCERPT].decode(errors="replace")

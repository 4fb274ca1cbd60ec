"""Check of the kind Migration: the API server serves it, with every field that this release has.

Source:
    https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3: every user may read
    what the API server publishes of a group, also its custom resources.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from cli.doctor.findings import Finding, fault, ok, shortened
from cli.doctor.reading import Object
from cli.doctor.site import INSTALL, Site
from shared.kube import migrations, paths

DEFINITION: Final = "definition"
REQUIRED: Final = ("migrations", "migrations/status")
PUBLISHED: Final = "/openapi/v3/apis"
SCHEMA: Final = "io.shuntyard.v1alpha1.Migration"
_FIELDS: Final[Mapping[str, type[Struct]]] = {
    "spec": migrations.Spec,
    "spec.owner": migrations.Reference,
    "spec.members": migrations.Member,
    "status": migrations.Status,
    "status.members": migrations.MemberStatus,
    "status.transitions": migrations.Transition,
}
"""Objects of a Migration, and what the extender reads of each."""


def check_definition(site: Site) -> Iterator[Finding]:
    """Read what the API group serves, because few users may read definitions themselves."""
    version = paths.group_version(paths.MIGRATIONS)
    finding = of_group(site.reader.get(f"{paths.GROUPS}/{version}"))
    lacking = lacking_fields(site.reader.get(f"{PUBLISHED}/{version}") or {})
    yield of_fields(lacking) if lacking else finding


def of_group(group: Object | None) -> Finding:
    """Judge the resources of our group and version; None: it is not served."""
    version = paths.group_version(paths.MIGRATIONS)
    if group is None:
        return fault(DEFINITION, f"{version} is not served: no job is moved", INSTALL)
    served = {resource.get("name") for resource in group.get("resources") or ()}
    missing = [name for name in REQUIRED if name not in served]
    if missing:
        return fault(DEFINITION, f"{version} is served without {', '.join(missing)}", INSTALL)
    return ok(DEFINITION, f"{version} is served, with migrations and their status")


def of_fields(lacking: list[str]) -> Finding:
    """Judge a definition that lacks fields: the API server drops them from what we write."""
    dropped = f"the API server drops {shortened(lacking)}, and jobs are not moved"
    message = f"the definition of migrations is of another release: {dropped}"
    return fault(DEFINITION, message, INSTALL)


def lacking_fields(published: Object) -> list[str]:
    """Return the fields that the schema does not have; none where no schema is published."""
    schemas = (published.get("components") or {}).get("schemas") or {}
    schema = schemas.get(SCHEMA)
    if schema is None:
        return []
    return [name for place, struct in _FIELDS.items() for name in _lacking(schema, place, struct)]


def _lacking(schema: Object, place: str, struct: type[Struct]) -> Iterator[str]:
    for name in place.split("."):
        schema = (schema.get("properties") or {}).get(name) or {}
        schema = schema.get("items") or schema
    known = schema.get("properties") or {}
    names = (field.encode_name for field in msgspec.structs.fields(struct))
    yield from (f"{place}.{name}" for name in names if name not in known)

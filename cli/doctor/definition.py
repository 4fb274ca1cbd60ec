"""Is the kind Migration there, in the version that the extender reads?"""

from collections.abc import Iterator
from typing import Final

from cli.doctor.findings import Finding, fault, ok
from cli.doctor.reading import Object
from cli.doctor.site import INSTALL, Site
from shared.kube import paths

CHECK: Final = "definition"
WANTED: Final = ("migrations", "migrations/status")


def check(site: Site) -> Iterator[Finding]:
    """Ask what the API group serves: everybody may, definitions themselves not everybody."""
    yield of_the_group(site.reader.get(f"{paths.GROUPS}/{paths.group_version(paths.MIGRATIONS)}"))


def of_the_group(found: Object | None) -> Finding:
    """Judge the list of resources of our group and version; None: it is not served."""
    version = paths.group_version(paths.MIGRATIONS)
    if found is None:
        said = f"{version} is not served: no job is moved"
        return fault(CHECK, said, INSTALL)
    served = {one.get("name") for one in found.get("resources") or ()}
    missing = [name for name in WANTED if name not in served]
    if missing:
        return fault(CHECK, f"{version} is served without {', '.join(missing)}", INSTALL)
    return ok(CHECK, f"{version} is served, with migrations and their status")

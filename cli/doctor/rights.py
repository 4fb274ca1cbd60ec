"""May the extender do what it has to? Asked is the API server, by SubjectAccessReview."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from cli.doctor import needed
from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.needed import Right
from cli.doctor.reading import Object
from cli.doctor.site import INSTALL, Site, containers
from cli.doctor.versions import SCHEDULER

CHECK: Final = "rights"
REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
MOST_NAMES: Final = 4
_AT_A_TIME: Final = 8
_MEND: Final = f"{INSTALL}; deploy/base/rbac.yaml says who uses each right"


def check(site: Site) -> Iterator[Finding]:
    """Ask for each right of the account that the Deployment names."""
    name = needed.ACCOUNT
    account = f"system:serviceaccount:{site.namespace}:{name}"
    wanted = [*needed.of_the_extender(site.namespace, site.settings), *needed.of_the_kinds()]
    if SCHEDULER in containers(site.deployment or {}):
        wanted += needed.of_the_scheduler(site.settings.lease)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        allowed = list(pool.map(lambda right: may(site, account, right), wanted))
    missing = [right for right, may in zip(wanted, allowed, strict=True) if not may]
    yield from of_what_is_missing(name, missing, len(wanted))


def of_what_is_missing(account: str, missing: Iterable[Right], asked: int) -> Iterator[Finding]:
    """Judge the rights that the account lacks, of so many that were asked for."""
    needs = [one for one in missing if not one.optional]
    optional = [one for one in missing if one.optional]
    if needs:
        yield fault(CHECK, f"the account {account} lacks {_named(needs)}", _MEND)
    kinds = sorted({one.resource for one in optional if one.verb == "list"})
    if kinds:
        said = f"the account {account} does not read {', '.join(kinds[:MOST_NAMES])}"
        more = f" and {len(kinds) - MOST_NAMES} more" if len(kinds) > MOST_NAMES else ""
        yield ok(CHECK, f"{said}{more}: gang sizes of such jobs must be stated (docs/kinds.md)")
    others = [one for one in optional if one.resource not in kinds]
    if others:
        said = f"the account {account} lacks {_named(others)}, without which something is off"
        yield warning(CHECK, said, _MEND)
    if not needs and not others:
        yield ok(CHECK, f"the account {account} has the {asked - len(optional)} rights it needs")


def review(account: str, right: Right) -> Object:
    """Return the question whether an account has a right."""
    resource, _, below = right.resource.partition("/")
    plural, _, group = resource.partition(".")
    attributes = {
        "verb": right.verb,
        "group": group,
        "resource": plural,
        "subresource": below,
        "namespace": right.namespace,
        "name": right.name,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": account,
            "groups": _groups(account),
            "resourceAttributes": {key: value for key, value in attributes.items() if value},
        },
    }


def may(site: Site, account: str, right: Right) -> bool:
    """Ask whether a service account has a right."""
    answer = site.reader.create(REVIEWS, review(account, right))
    return bool((answer.get("status") or {}).get("allowed"))


def _groups(account: str) -> list[str]:
    namespace = account.split(":")[2]
    accounts = "system:serviceaccounts"
    return ["system:authenticated", accounts, f"{accounts}:{namespace}"]


def _named(rights: list[Right]) -> str:
    named = [str(one) for one in rights[:MOST_NAMES]]
    more = f" and {len(rights) - MOST_NAMES} more" if len(rights) > MOST_NAMES else ""
    return f"{', '.join(named)}{more}"

"""Are our keys ours: is the policy in force, and is what signs them kept where nobody reads it?"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from cli.doctor import needed, rights
from cli.doctor.certificates import SECRETS
from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.gate import GROUP
from cli.doctor.needed import Right
from cli.doctor.reading import Object
from cli.doctor.site import AGENTS_NAMESPACE, INSTALL, Site
from shared import labels, signing_secret
from shared.kube import paths

CHECK: Final = "our-keys"
POLICIES: Final = paths.collection(GROUP, "v1", "validatingadmissionpolicies")
BINDINGS: Final = paths.collection(GROUP, "v1", "validatingadmissionpolicybindings")
_PAGE: Final = "docs/our-keys.md"
_MEND: Final = f"apply deploy/base/our-keys.yaml: {_PAGE}"
_OTHERS: Final = ("default:default", f"{AGENTS_NAMESPACE}:shuntyard-agent")
"""Accounts that have no business with the Secret: of any pod that names none, and the agents'."""


def check(site: Site) -> Iterator[Finding]:
    """Read the policy and its binding, then the Secret, and ask whether others may read it."""
    policies, bindings = site.reader.items(POLICIES), site.reader.items(BINDINGS)
    yield of_the_policy(policies, bindings, _account(site))
    name = str(site.settings.of("signing", "secret", ""))
    if not name:
        said = "signing.secret is not set: who may edit a pod may give it a seat"
        yield warning(CHECK, said, f"set it to {signing_secret.NAME}: {_PAGE}")
        return
    namespace = str(site.settings.of("signing", "namespace", "shuntyard-system"))
    yield of_those_who_read(_readers(site, namespace, name), f"{namespace}/{name}")
    found = site.reader.get(paths.namespaced(SECRETS, namespace, name))
    yield of_the_secret(found, f"{namespace}/{name}")


def of_the_policy(policies: Iterable[Object], bindings: Iterable[Object], account: str) -> Finding:
    """Judge whether others are kept from writing our keys, and the extender is not."""
    ours = [one for one in policies if labels.SEAT_SIGNATURE in json.dumps(one["spec"])]
    if not ours:
        said = "no ValidatingAdmissionPolicy reserves our annotations: signatures alone protect"
        return warning(CHECK, said, _MEND)
    name = ours[0]["metadata"]["name"]
    bound = [one["spec"] for one in bindings if one["spec"].get("policyName") == name]
    if not bound:
        said = f"the ValidatingAdmissionPolicy {name} has no binding: it does nothing"
        return warning(CHECK, said, _MEND)
    if not any("Deny" in (one.get("validationActions") or ()) for one in bound):
        return warning(CHECK, f"no binding of {name} denies: it refuses nothing", _MEND)
    if any(one.get("matchResources") for one in bound):
        said = f"the binding of {name} is for a part of the cluster: elsewhere it refuses nothing"
        return warning(CHECK, said, _MEND)
    if account not in json.dumps(ours[0]["spec"]):
        said = (
            f"the ValidatingAdmissionPolicy {name} does not name {account}: it stops the extender"
        )
        return fault(CHECK, said, f"name it in the variable account: {_PAGE}")
    return ok(CHECK, f"the ValidatingAdmissionPolicy {name} is in force")


def of_those_who_read(readers: list[str], name: str) -> Finding:
    """Judge who may read the keys."""
    if readers:
        said = f"{', '.join(readers)} may read the Secret {name}, and sign in our name"
        return fault(
            CHECK, said, f"take that right away, then `shuntyard rotate-seat-key`: {_PAGE}"
        )
    return ok(CHECK, f"accounts that have no business with it cannot read the Secret {name}")


def of_the_secret(found: Object | None, name: str) -> Finding:
    """Judge whether there is a key."""
    if found is None:
        return fault(CHECK, f"there is no Secret {name}: the extender does not start", INSTALL)
    if not (found.get("data") or {}).get(signing_secret.CURRENT):
        said = f"the Secret {name} holds no key yet: the extender makes one when it starts"
        return warning(CHECK, said, f"look at the extender's log: {_PAGE}")
    return ok(CHECK, f"the Secret {name} holds the key that signs")


def _account(site: Site) -> str:
    return f"system:serviceaccount:{site.namespace}:{needed.ACCOUNT}"


def _readers(site: Site, namespace: str, name: str) -> list[str]:
    """Return which accounts may read the Secret that should not."""
    right = Right("get", "secrets", namespace, name)
    return [one for one in _OTHERS if rights.may(site, f"system:serviceaccount:{one}", right)]

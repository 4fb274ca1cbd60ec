"""Checks of admission policies: the scheduling gate of new pods, and our reserved keys."""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from cli.doctor import rights
from cli.doctor.findings import Finding, fault, ok, warning
from cli.doctor.reading import Object
from cli.doctor.rights import Right
from cli.doctor.site import AGENTS_NAMESPACE, INSTALL, SECRETS, Site
from shared import labels, signing_secret
from shared.kube import paths

GATE: Final = "gate"
OUR_KEYS: Final = "our-keys"
GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = "mutatingadmissionpolicies"
MUTATING_BINDINGS: Final = "mutatingadmissionpolicybindings"
VALIDATING: Final = paths.collection(GROUP, "v1", "validatingadmissionpolicies")
VALIDATING_BINDINGS: Final = paths.collection(GROUP, "v1", "validatingadmissionpolicybindings")
_OUR_KEYS_PAGE: Final = "docs/our-keys.md"
_APPLY: Final = f"apply deploy/base/our-keys.yaml: {_OUR_KEYS_PAGE}"
_OTHERS: Final = ("default:default", f"{AGENTS_NAMESPACE}:shuntyard-agent")
"""Accounts that must not read the Secret: that of pods that name none, and the agents'."""


def check_gate(site: Site) -> Iterator[Finding]:
    """Read mutating policies and bindings, where the API server serves them."""
    for version in ("v1", "v1beta1"):
        served = site.reader.get(f"{paths.GROUPS}/{GROUP}/{version}") or {}
        if any(resource.get("name") == MUTATING for resource in served.get("resources") or ()):
            policies = site.reader.items(paths.collection(GROUP, version, MUTATING))
            bindings = site.reader.items(paths.collection(GROUP, version, MUTATING_BINDINGS))
            yield of_gate(policies, bindings)
            return
    message = "this version serves no MutatingAdmissionPolicy: pods must name the gate themselves"
    yield ok(GATE, message)


def of_gate(policies: Iterable[Object], bindings: Iterable[Object]) -> Finding:
    """Judge whether a policy adds our gate to new pods, and is in force."""
    names = [one["metadata"]["name"] for one in policies if labels.GATE in json.dumps(one["spec"])]
    fix = f"apply deploy/components/gate, or add the gate {labels.GATE} to your pods"
    if not names:
        message = "no MutatingAdmissionPolicy adds our gate: only pods that name it are queued"
        return warning(GATE, message, fix)
    bound = {binding["spec"].get("policyName") for binding in bindings}
    if not bound & {*names}:
        message = f"the MutatingAdmissionPolicy {names[0]} has no binding: it has no effect"
        return warning(GATE, message, fix)
    return ok(GATE, f"the MutatingAdmissionPolicy {names[0]} is in force")


def check_our_keys(site: Site) -> Iterator[Finding]:
    """Read the validating policy and its binding, then the Secret, and who may read it."""
    account = f"system:serviceaccount:{site.namespace}:{rights.ACCOUNT}"
    policies, bindings = site.reader.items(VALIDATING), site.reader.items(VALIDATING_BINDINGS)
    yield of_our_keys(policies, bindings, account)
    name = str(site.settings.of("signing", "secret", ""))
    if not name:
        message = "signing.secret is not set: users who may edit a pod may forge its reservation"
        yield warning(OUR_KEYS, message, f"set it to {signing_secret.NAME}: {_OUR_KEYS_PAGE}")
        return
    namespace = str(site.settings.of("signing", "namespace", "shuntyard-system"))
    yield of_readers(_readers(site, namespace, name), f"{namespace}/{name}")
    secret = site.reader.get(paths.namespaced(SECRETS, namespace, name))
    yield of_secret(secret, f"{namespace}/{name}")


def of_our_keys(policies: Iterable[Object], bindings: Iterable[Object], account: str) -> Finding:
    """Judge whether the policy keeps all but the extender from writing our keys."""
    policy = next(
        (one for one in policies if labels.RESERVATION_SIGNATURE in json.dumps(one["spec"])), None
    )
    if policy is None:
        message = "no ValidatingAdmissionPolicy reserves our annotations: only signatures protect"
        return warning(OUR_KEYS, message, _APPLY)
    name = policy["metadata"]["name"]
    bound = [one["spec"] for one in bindings if one["spec"].get("policyName") == name]
    if not bound:
        message = f"the ValidatingAdmissionPolicy {name} has no binding: it has no effect"
        return warning(OUR_KEYS, message, _APPLY)
    if not any("Deny" in (spec.get("validationActions") or ()) for spec in bound):
        return warning(OUR_KEYS, f"no binding of {name} denies: it refuses nothing", _APPLY)
    if any(spec.get("matchResources") for spec in bound):
        message = f"the binding of {name} covers a part of the cluster only"
        return warning(OUR_KEYS, message, _APPLY)
    if account not in json.dumps(policy["spec"]):
        message = f"the ValidatingAdmissionPolicy {name} lacks {account}: it blocks the extender"
        return fault(OUR_KEYS, message, f"name it in is-not-the-extender: {_OUR_KEYS_PAGE}")
    return ok(OUR_KEYS, f"the ValidatingAdmissionPolicy {name} is in force")


def of_readers(readers: list[str], name: str) -> Finding:
    """Judge which other accounts may read the keys."""
    if readers:
        message = f"{', '.join(readers)} may read the Secret {name}, and forge our signatures"
        fix = f"remove that right, then run `shuntyard rotate-signing-key`: {_OUR_KEYS_PAGE}"
        return fault(OUR_KEYS, message, fix)
    return ok(OUR_KEYS, f"other accounts cannot read the Secret {name}")


def of_secret(secret: Object | None, name: str) -> Finding:
    """Judge whether there is a key."""
    if secret is None:
        return fault(OUR_KEYS, f"there is no Secret {name}: the extender does not start", INSTALL)
    if not (secret.get("data") or {}).get(signing_secret.CURRENT):
        message = f"the Secret {name} holds no key yet: the extender makes one when it starts"
        return warning(OUR_KEYS, message, f"look at the extender's log: {_OUR_KEYS_PAGE}")
    return ok(OUR_KEYS, f"the Secret {name} holds the signing key")


def _readers(site: Site, namespace: str, name: str) -> list[str]:
    """Return the accounts that may read the Secret and should not."""
    right = Right("get", "secrets", namespace, name)
    return [one for one in _OTHERS if rights.may(site, f"system:serviceaccount:{one}", right)]

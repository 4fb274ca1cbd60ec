"""Do new pods of ours get the scheduling gate by themselves?"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from cli.doctor.findings import Finding, ok, warning
from cli.doctor.reading import Object
from cli.doctor.site import Site
from shared import labels
from shared.kube import paths

CHECK: Final = "gate"
GROUP: Final = "admissionregistration.k8s.io"
POLICIES: Final = "mutatingadmissionpolicies"
BINDINGS: Final = "mutatingadmissionpolicybindings"
_MEND: Final = f"take deploy/components/gate, or write the gate {labels.GATE} into your pods"


def check(site: Site) -> Iterator[Finding]:
    """Read policies and bindings, where the API server serves them."""
    for version in ("v1", "v1beta1"):
        served = site.reader.get(f"{paths.GROUPS}/{GROUP}/{version}") or {}
        if any(one.get("name") == POLICIES for one in served.get("resources") or ()):
            policies = site.reader.items(paths.collection(GROUP, version, POLICIES))
            bindings = site.reader.items(paths.collection(GROUP, version, BINDINGS))
            yield of_the_policies(policies, bindings)
            return
    yield ok(
        CHECK, "this version serves no MutatingAdmissionPolicy: pods are gated by hand, or not"
    )


def of_the_policies(policies: Iterable[Object], bindings: Iterable[Object]) -> Finding:
    """Judge whether there is one with our gate, and whether it is in force."""
    named = [one["metadata"]["name"] for one in policies if labels.GATE in json.dumps(one["spec"])]
    if not named:
        said = "no MutatingAdmissionPolicy adds our gate: pods come ungated, by the direct path"
        return warning(CHECK, said, _MEND)
    bound = {one["spec"].get("policyName") for one in bindings}
    if not bound & {*named}:
        said = f"the MutatingAdmissionPolicy {named[0]} has no binding: it does nothing"
        return warning(CHECK, said, _MEND)
    return ok(CHECK, f"the MutatingAdmissionPolicy {named[0]} is in force")

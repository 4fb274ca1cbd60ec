"""The claims of a pod for devices (``spec.resourceClaims``)."""

from collections.abc import Iterable

from msgspec import Struct

from shared.devices import PodClaim


class PodResourceClaim(Struct, rename="camel"):
    """``spec.resourceClaims[]``: an object of its own, or one made from a template."""

    name: str = ""
    resource_claim_template_name: str | None = None


def from_templates(claims: Iterable[PodResourceClaim] | None) -> tuple[PodClaim, ...]:
    """Return the claims that are made from templates, in the pod's order."""
    return tuple(
        PodClaim(claim.name, claim.resource_claim_template_name)
        for claim in claims or ()
        if claim.resource_claim_template_name
    )

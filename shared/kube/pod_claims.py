"""The claims of a pod for devices (``spec.resourceClaims``)."""

from collections.abc import Iterable

from msgspec import Struct

from shared.objects.devices import PodClaim


class PodResourceClaim(Struct, rename="camel"):
    """``spec.resourceClaims[]``: an object of its own, or one made from a template."""

    name: str = ""
    resource_claim_template_name: str | None = None
    resource_claim_name: str | None = None

    @property
    def readable(self) -> bool:
        """Whether it names a template or a claim; later versions may know more."""
        return bool(self.resource_claim_template_name or self.resource_claim_name)


def pod_claims(claims: Iterable[PodResourceClaim] | None) -> tuple[PodClaim, ...]:
    """Return the claims in the pod's order, which is the order of their allocation."""
    return tuple(
        PodClaim(c.name, c.resource_claim_template_name or "", c.resource_claim_name or "")
        for c in claims or ()
        if c.readable
    )

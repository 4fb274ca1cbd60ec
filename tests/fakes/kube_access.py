"""The rights of callers, as the fake API server answers a SubjectAccessReview."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Access:
    """The rights that a test gives.

    Attributes:
        granted: User, verb, resource or path, and namespace; "" for all of them.
        reviews: How many reviews were answered.
    """

    granted: set[tuple[str, str, str, str]] = field(default_factory=set)
    reviews: int = 0

    def grant(self, user: str, verb: str, what: str, namespace: str = "") -> None:
        self.granted.add((user, verb, what, namespace))

    def review(self, body: Any) -> Any:
        self.reviews += 1
        spec = body["spec"]
        attributes = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
        what = attributes.get("resource") or attributes["path"]
        namespace = attributes.get("namespace", "")
        places = {"", namespace}
        allowed = any(
            (spec["user"], attributes["verb"], what, place) in self.granted for place in places
        )
        return {**body, "status": {"allowed": allowed}}

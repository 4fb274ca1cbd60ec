"""May somebody do something? The API server says, by whatever authorizes its own callers.

Source:
    https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
"""

from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import BrokenAnswerError
from shared.kube.token_review import User


class Act(Struct, frozen=True):
    """What is to be done: a verb on a resource, or on a path that is none.

    Attributes:
        verb: ``get``, ``list``, …
        resource: Plural of the core group; empty where ``path`` is meant.
        namespace: Where; empty: everywhere.
        path: Path of no resource, e.g. ``/metrics``.
    """

    verb: str
    resource: str = ""
    namespace: str = ""
    path: str = ""

    def attributes(self) -> dict[str, object]:
        """Return its part of a review's ``spec``."""
        if self.path:
            return {"nonResourceAttributes": {"verb": self.verb, "path": self.path}}
        fields = {"verb": self.verb, "resource": self.resource, "namespace": self.namespace}
        return {"resourceAttributes": {key: value for key, value in fields.items() if value}}


class _Status(Struct, frozen=True):
    allowed: bool = False


class _AccessReview(Struct, frozen=True):
    status: _Status


_DECODER: Final = msgspec.json.Decoder(_AccessReview)


async def allowed(client: KubeClient, user: User, act: Act) -> bool:
    """Ask whether ``user`` may do it.

    Raises:
        ApiError: There is no verdict; it must not be taken for allowed.
    """
    spec = {
        "user": user.username,
        "uid": user.uid,
        "groups": user.groups,
        "extra": user.extra,
        **act.attributes(),
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": spec,
    }
    answer = await client.post(paths.ACCESS_REVIEWS, body)
    try:
        return _DECODER.decode(answer).status.allowed
    except ValueError as error:  # no such JSON, or no UTF-8
        raise BrokenAnswerError(f"{paths.ACCESS_REVIEWS}: {error}") from error

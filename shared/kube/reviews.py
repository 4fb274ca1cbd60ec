"""Reviews by the API server: who a token belongs to, and whether a user may do something.

Nothing of a token is believed before it was reviewed. Access is reviewed by whatever authorizes the
API server's own callers.

Source:
    https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
    https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#additional-metadata-in-pod-bound-tokens
    https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
"""

import base64
import binascii
from typing import Final

import msgspec
from msgspec import Struct

from shared.kube import paths
from shared.kube.client import KubeClient
from shared.kube.errors import BrokenAnswerError

NODE_NAME: Final = "authentication.kubernetes.io/node-name"
"""Key of ``extra``: the node of the pod that the token is bound to."""


class User(Struct, frozen=True):
    """The user of a token."""

    username: str = ""
    extra: dict[str, tuple[str, ...]] = {}
    uid: str = ""
    groups: tuple[str, ...] = ()


class TokenVerdict(Struct, frozen=True):
    """The API server's verdict on a token.

    Attributes:
        authenticated: The token is valid now, and for one of the requested audiences.
        user: Its user; empty unless authenticated.
        audiences: The requested audiences that it is for. Empty if the server's authenticator does
            not know audiences: then the token may be for any audience.
        error: Why it is not authenticated, as stated by the server.
    """

    authenticated: bool = False
    user: User = User()
    audiences: tuple[str, ...] = ()
    error: str = ""

    @property
    def node(self) -> str:
        """Name of the node that the token's pod is bound to; empty if it has none."""
        names = self.user.extra.get(NODE_NAME, ())
        return names[0] if len(names) == 1 else ""


class _TokenReview(Struct, frozen=True):
    status: TokenVerdict


class _Claims(Struct, frozen=True):
    exp: float | None = None


_TOKEN_REVIEW: Final = msgspec.json.Decoder(_TokenReview)


_CLAIMS: Final = msgspec.json.Decoder(_Claims)


async def review_token(client: KubeClient, token: str, audience: str | None) -> TokenVerdict:
    """Review a token for ``audience``; None: for the API server itself.

    Raises:
        ApiError: There is no verdict; the token must not be accepted.
    """
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token, **({"audiences": [audience]} if audience else {})},
    }
    answer = await client.post(paths.TOKEN_REVIEWS, body)
    try:
        return _TOKEN_REVIEW.decode(answer).status
    except ValueError as error:  # not such JSON, or not UTF-8
        raise BrokenAnswerError(f"{paths.TOKEN_REVIEWS}: {error}") from error


def expires_at(token: str) -> float | None:
    """Return when a token expires, in seconds since the epoch; None if it does not say.

    Only for an authenticated token: the signature is not checked.
    """
    _, _, rest = token.partition(".")
    claims, _, _ = rest.partition(".")
    try:
        padded = claims + "=" * (-len(claims) % 4)
        return _CLAIMS.decode(base64.urlsafe_b64decode(padded)).exp
    except (binascii.Error, ValueError):
        return None


class Act(Struct, frozen=True):
    """An action: a verb on a resource, or on a non-resource path.

    Attributes:
        verb: ``get``, ``list``, …
        resource: Plural in the core group; empty with ``path``.
        namespace: Namespace; empty: all.
        path: Non-resource path, e.g. ``/metrics``.
    """

    verb: str
    resource: str = ""
    namespace: str = ""
    path: str = ""

    def attributes(self) -> dict[str, object]:
        """Return the attributes in a review's ``spec``."""
        if self.path:
            return {"nonResourceAttributes": {"verb": self.verb, "path": self.path}}
        fields = {"verb": self.verb, "resource": self.resource, "namespace": self.namespace}
        return {"resourceAttributes": {key: value for key, value in fields.items() if value}}


class _Status(Struct, frozen=True):
    allowed: bool = False


class _AccessReview(Struct, frozen=True):
    status: _Status


_ACCESS_REVIEW: Final = msgspec.json.Decoder(_AccessReview)


async def is_allowed(client: KubeClient, user: User, act: Act) -> bool:
    """Return True if ``user`` may do it.

    Raises:
        ApiError: There is no verdict; it must not count as allowed.
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
        return _ACCESS_REVIEW.decode(answer).status.allowed
    except ValueError as error:  # not such JSON, or not UTF-8
        raise BrokenAnswerError(f"{paths.ACCESS_REVIEWS}: {error}") from error

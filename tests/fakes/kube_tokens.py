"""Service account tokens of the fake API server: TokenRequest issues, TokenReview checks them.

Source: kubernetes ``pkg/registry/core/serviceaccount/storage/token.go`` and
``pkg/serviceaccount/claims.go``, v1.36.
"""

import base64
import itertools
import json
from typing import Any

from shared.readapi.answer import PROXIED_AUTHORIZATION, VIEWERS_ACCOUNT, VIEWERS_AUDIENCE
from shared.system_clock import SystemClock
from tests.fakes.kube_errors import Refusal, conflict, invalid, not_found
from tests.fakes.kube_request import Target
from tests.fakes.kube_selectors import Object
from tests.fakes.kube_store import Store

ISSUER = "https://kubernetes.default.svc.cluster.local"
LEAST_SECONDS = 600
_CLAIM = "authentication.kubernetes.io"


class Tokens:
    """The tokens that were issued.

    Attributes:
        reviews: How many TokenReviews were answered.
    """

    def __init__(self, store: Store) -> None:
        self.reviews = 0
        self._store = store
        self._serial = itertools.count(1)
        self._issued: dict[str, Object] = {}

    def request(self, about: Target, body: Object) -> Object:
        """TokenRequest on a service account: a token bound to a pod, if it names one."""
        spec = body.get("spec", {})
        account = self._object("/api/v1/serviceaccounts", about.namespace, about.name)
        seconds = spec.get("expirationSeconds", 3600)
        if seconds < LEAST_SECONDS:
            raise invalid(
                "TokenRequest", "", "spec.expirationSeconds", "may not be less than 10 min"
            )
        extra: dict[str, list[str]] = {}
        if reference := spec.get("boundObjectRef"):
            extra = self._bound(about, reference)
        user = f"system:serviceaccount:{about.namespace}:{account['metadata']['name']}"
        token = self.mint(user, spec.get("audiences") or [ISSUER], extra, seconds=seconds)
        return {**body, "status": {"token": token}}

    def mint(
        self,
        user: str,
        audiences: list[str],
        extra: dict[str, list[str]] | None = None,
        *,
        seconds: float = 3600,
    ) -> str:
        """Issue a token past every check; ``seconds`` below 0: one that has expired."""
        end = SystemClock().now() + seconds
        claims = {"aud": audiences, "exp": end, "jti": f"{next(self._serial)}", "sub": user}
        token = ".".join((_part({"alg": "ES256"}), _part(claims), "signature"))
        self._issued[token] = {**claims, "extra": extra or {}}
        return token

    def role_pass(self) -> dict[str, str]:
        """Return the header of a user with the Role ``shuntyard-viewer`` (``cli.role_pass``)."""
        user = f"system:serviceaccount:shuntyard-system:{VIEWERS_ACCOUNT}"
        token = self.mint(user, [VIEWERS_AUDIENCE])
        return {PROXIED_AUTHORIZATION: f"Bearer {token}"}

    def review(self, body: Object) -> Object:
        """TokenReview: whether a token is valid for one of the requested audiences."""
        self.reviews += 1
        spec = body.get("spec", {})
        if not spec.get("token"):
            message = "token is required for TokenReview in authentication"
            raise Refusal(400, "BadRequest", message)
        return {**body, "status": self._verdict(spec["token"], spec.get("audiences") or [ISSUER])}

    def _verdict(self, token: str, requested: list[str]) -> Object:
        claims = self._issued.get(token)
        if claims is None:
            return _refused("invalid bearer token")
        audiences = [audience for audience in claims["aud"] if audience in requested]
        if not audiences:
            problem = (
                f"token audiences {claims['aud']} is invalid for the target audiences {requested}"
            )
            return _refused(f"invalid bearer token, {problem}")
        if claims["exp"] < SystemClock().now() or not self._is_there(claims):
            return _refused("invalid bearer token, service account token has expired")
        user = {"username": claims["sub"], "uid": "-", "groups": [], "extra": claims["extra"]}
        return {"authenticated": True, "user": user, "audiences": audiences}

    def _bound(self, about: Target, reference: Object) -> dict[str, list[str]]:
        name, uid = reference["name"], reference.get("uid", "")
        pod = self._object("/api/v1/pods", about.namespace, name)
        if uid and uid != pod["metadata"]["uid"]:
            raise conflict("Pod", name, "the UID in the bound object reference does not match")
        claims = {"pod-name": name, "pod-uid": pod["metadata"]["uid"]}
        if node := pod["spec"].get("nodeName"):
            claims["node-name"] = node
        return {f"{_CLAIM}/{key}": [value] for key, value in claims.items()}

    def _is_there(self, claims: Object) -> bool:
        """A token ends with its pod."""
        extra = claims["extra"]
        (name,) = extra.get(f"{_CLAIM}/pod-name", [""])
        (uid,) = extra.get(f"{_CLAIM}/pod-uid", [""])
        namespace = claims["sub"].split(":")[2] if name else ""
        pod = self._store.get(("/api/v1/pods", namespace, name)) if name else None
        return not name or (pod is not None and pod["metadata"]["uid"] == uid)

    def _object(self, collection: str, namespace: str, name: str) -> Object:
        found = self._store.get((collection, namespace, name))
        if found is None:
            raise not_found(collection.rsplit("/", 1)[1], name)
        return found


def _refused(error: str) -> Object:
    return {"user": {}, "error": f"[{error}]"}


def _part(claims: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")

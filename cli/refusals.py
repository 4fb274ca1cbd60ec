"""What to do about a refusal of the API server: one sentence each.

Source:
    kubernetes v1.36.3, pkg/registry/core/service/storage/storage.go (``ResourceLocation``), and
    k8s.io/apimachinery, pkg/util/proxy/transport.go.
"""

from typing import Final

from cli.service import Service
from shared.kube import errors

_NO_ENDPOINTS: Final = "no endpoints available"
_UNREACHED: Final = "error trying to reach service"


def sentence(status: int, body: bytes, service: Service, server: str, verb: str) -> str:
    """Return what was refused, why, and what helps.

    Args:
        status: HTTP status, no 200.
        body: A Status of the API server, or the words of the extender behind it.
        service: What was asked for.
        server: The API server's URL.
        verb: Which right on ``services/proxy`` is needed: ``get``, or ``create`` for a POST.
    """
    refusal = errors.from_response(status, body)
    if not refusal.reason:  # no Status: the extender said it, or something in between
        return f"{refusal.message.strip()} (status {status})".lstrip()
    match refusal:
        case errors.UnauthorizedError():
            return f"{server} does not accept the credentials: log in again, or use others"
        case errors.ForbiddenError():
            return _forbidden(refusal.message, service, verb)
        case errors.NotFoundError():
            hint = "is Shuntyard installed there? --service or SHUNTYARD_SERVICE names another"
            return f"there is no Service {_where(service)}: {hint}"
        case errors.ServerError():
            return _unavailable(refusal, service)
        case _:
            return f"{refusal.message} (status {status})"


def _forbidden(said: str, service: Service, verb: str) -> str:
    right = (
        f"`{verb}` on `services/proxy` named `{service.key}` in the namespace {service.namespace}"
    )
    helps = "ask for the Role shuntyard-viewer, see docs/cli.md"
    return f"you lack the right {right}: {helps} ({said})"


def _unavailable(refusal: errors.ApiError, service: Service) -> str:
    if _NO_ENDPOINTS in refusal.message:
        return f"no extender is ready at port {service.port} of the Service {_where(service)}"
    if _UNREACHED in refusal.message:
        return f"the API server does not reach the extender: {refusal.message}"
    return f"{refusal.message} (status {refusal.status})"


def _where(service: Service) -> str:
    return f"{service.name} in the namespace {service.namespace}"

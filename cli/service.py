"""The Service of the read API, as the API server's proxy names it.

Source:
    https://kubernetes.io/docs/tasks/access-application-cluster/access-cluster-services/#manually-constructing-apiserver-proxy-urls
"""

import re
from typing import Final, NamedTuple

DEFAULT_SERVICE: Final = "shuntyard-system/shuntyard-extender:api"
FORM: Final = "NAMESPACE/NAME:PORT"

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_TEXT: Final = re.compile(
    rf"(?P<namespace>{_LABEL})/(?:(?P<scheme>https?):)?(?P<name>{_LABEL}):(?P<port>{_LABEL})"
)


class Service(NamedTuple):  # a dataclass would double the time of --help
    """A port of a Service.

    Attributes:
        scheme: Protocol between the API server and it: ``http`` or ``https``.
        port: Its name or number.
    """

    namespace: str
    name: str
    port: str
    scheme: str = "http"

    @property
    def key(self) -> str:
        """The name in the proxy's path; RBAC's ``resourceNames`` must have exactly this text."""
        return f"{self.scheme}:{self.name}:{self.port}"

    def path(self, below: str) -> str:
        """Return the API server's path for the path ``below`` of the Service."""
        return f"/api/v1/namespaces/{self.namespace}/services/{self.key}/proxy{below}"


def parse(text: str) -> Service:
    """Return the Service of ``NAMESPACE/NAME:PORT`` or ``NAMESPACE/SCHEME:NAME:PORT``.

    Raises:
        ValueError: The text has another form.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not of the form {FORM}, such as {DEFAULT_SERVICE}")
    return Service(match["namespace"], match["name"], match["port"], match["scheme"] or "http")

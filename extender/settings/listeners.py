"""The sections of the settings file about the listeners for kube-scheduler, users and agents."""

import ipaddress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Protocol, Self, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from shared import labels
from shared.connections import BODY_SECONDS, MOST_CONNECTIONS
from shared.readapi.answer import VIEWERS_ACCOUNT
from shared.settings import Section, listed

MOST_SCHEDULER_CONNECTIONS: Final = 16384
"""A gang of ten thousand waits at the bind barrier with a connection each; one loopback address has
28,000 ports for callers."""
Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]
"""Several texts; in the environment separated by commas."""


class _Pair(Protocol):
    @property
    def certificate(self) -> Path | None: ...
    @property
    def key(self) -> Path | None: ...


_Listener = TypeVar("_Listener", bound=_Pair)


def _both_or_none(listener: _Listener) -> _Listener:
    if (listener.certificate is None) != (listener.key is None):
        raise ValueError("certificate and key: expected both or none of them")
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Listening(Section):
    """What every listener has."""

    most_connections: int = Field(
        default=MOST_CONNECTIONS,
        ge=1,
        le=1_000_000,
        description="Most open connections, limited to a part of the files that the process may "
        "open: six tenths for kube-scheduler, a fifth for agents, a tenth for users. One more "
        "ends the connection that has been idle for longest.",
    )
    body_seconds: float = Field(
        default=BODY_SECONDS,
        ge=0.1,
        le=3600,
        description="How long the body of a request may take; then the connection is ended.",
    )


class SchedulerSection(_Listening):
    """The listener for kube-scheduler (docs/tls.md)."""

    most_connections: int = Field(
        default=MOST_SCHEDULER_CONNECTIONS,
        ge=1,
        le=1_000_000,
        description="Most open connections, limited to six tenths of the files that the process "
        "may open. Nine tenths of them may be bind calls that wait for their gang, one for each "
        "pod; a larger gang needs further requests to the API server.",
    )

    scheduler_name: str = Field(
        default=labels.SCHEDULER_NAME,
        min_length=1,
        description="`spec.schedulerName` of the pods that are ours; the profile's name in "
        "kube-scheduler's configuration.",
    )
    listen_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address for kube-scheduler. Callers are not authenticated without "
        "`client_authority`, so without it this must be a loopback address.",
    )
    listen_port: int = Field(default=10261, ge=0, le=65535, description="Port; 0 takes a free one.")
    certificate: Path | None = Field(
        default=None,
        description="Certificate chain in PEM, read again when it changes; no value: no TLS.",
    )
    key: Path | None = Field(default=None, description="Its private key in PEM.")
    client_authority: Path | None = Field(
        default=None,
        description="Authorities in PEM, read again when they change: a caller must have a "
        "certificate signed by one of them; no value: every caller is accepted.",
    )
    client_names: Texts = Field(
        default=("shuntyard-kube-scheduler",),
        min_length=1,
        description="With `client_authority`: the caller's certificate must have one of these "
        "common names or DNS names; in the environment separated by commas.",
    )
    identity: str | None = Field(
        default=None,
        min_length=1,
        description="The part before the last `_` of kube-scheduler's identity in the Lease; no "
        "value: this host's name.",
    )

    _pair = model_validator(mode="after")(_both_or_none)

    @model_validator(mode="after")
    def _asks_for_certificates_over_tls(self) -> Self:
        if self.client_authority is not None and self.certificate is None:
            raise ValueError("client_authority: expected certificate and key beside it")
        return self

    @model_validator(mode="after")
    def _is_local_without_authentication(self) -> Self:
        if self.client_authority is None and not _is_loopback(self.listen_host):
            raise ValueError(
                f"listen_host {self.listen_host!r}: expected a loopback address, because callers "
                "are not authenticated without client_authority"
            )
        return self


class WithoutToken(StrEnum):
    """What the API listener shows to callers without a token."""

    ALL = "all"
    HEALTH = "health"


class ApiSection(_Listening):
    """The listener for users and probes: read API, `/livez`, `/readyz`, `/metrics`."""

    listen_host: str = Field(default="127.0.0.1", min_length=1, description="Address.")
    listen_port: int = Field(default=10262, ge=0, le=65535, description="Port; 0 takes a free one.")
    certificate: Path | None = Field(
        default=None,
        description="Certificate chain in PEM, read again when it changes; no value: no TLS.",
    )
    key: Path | None = Field(default=None, description="Its private key in PEM.")
    without_token: WithoutToken = Field(
        default=WithoutToken.ALL,
        description="What callers without a token see: `all`, which callers through the API "
        "server's service proxy need, because it hides their names; `health`: probes only. "
        "What-if needs a token with either. Callers with a token see the namespaces in which they "
        "may list pods.",
    )
    audience: str | None = Field(
        default=None,
        min_length=1,
        description="Audience that callers' tokens must have; no value: the API server's own, "
        "which every token for it has.",
    )
    viewer_accounts: Texts = Field(
        default=(f"system:serviceaccount:shuntyard-system:{VIEWERS_ACCOUNT}",),
        description="User names whose tokens for the audience `shuntyard-viewers` prove the Role "
        "`shuntyard-viewer`: their callers see all namespaces and may use what-if. In the "
        "environment separated by commas.",
    )
    review_cache_seconds: float = Field(
        default=30.0,
        ge=0,
        le=600,
        description="How long the user of a token and what the user may see are cached; a refusal "
        "is cached ten times as long, but at most ten minutes.",
    )

    _pair = model_validator(mode="after")(_both_or_none)


class AgentsSection(_Listening):
    """The listener for node agents. It needs a certificate, because agents send tokens."""

    listen_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address; agents of other nodes must reach it.",
    )
    listen_port: int = Field(default=10263, ge=0, le=65535, description="Port; 0 takes a free one.")
    certificate: Path | None = Field(
        default=None,
        description="Certificate chain in PEM, read again when it changes; no value: the listener "
        "is not opened, and training progress is unknown.",
    )
    key: Path | None = Field(default=None, description="Its private key in PEM.")
    audience: str = Field(
        default="shuntyard-extender",
        min_length=1,
        description="Audience of the agents' projected service account tokens.",
    )
    accounts: Texts = Field(
        default=("system:serviceaccount:shuntyard-agents:shuntyard-agent",),
        min_length=1,
        description="User names of agents; in the environment separated by commas.",
    )
    token_cache_seconds: float = Field(
        default=60.0,
        ge=0,
        le=3600,
        description="How long a token that the API server accepted is not reviewed again. The "
        "token of a deleted agent is accepted for so long.",
    )
    most_body_bytes: int = Field(
        default=4 * 2**20,
        ge=2**16,
        le=2**28,
        description="Largest heartbeat, unpacked; a full one has about 1.5 KB for each pod.",
    )

    _pair = model_validator(mode="after")(_both_or_none)

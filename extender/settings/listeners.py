"""The sections of the settings file for the listeners: for kube-scheduler, people, and agents."""

import ipaddress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Protocol, Self, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from shared import labels
from shared.answer import VIEWERS_ACCOUNT
from shared.connections import BODY_SECONDS, MOST_CONNECTIONS
from shared.settings import Section


def listed(found: object) -> object:
    """Take a text, as the environment has it, for the items that its commas separate."""
    return [part.strip() for part in found.split(",")] if isinstance(found, str) else found


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
    """What every listener is told."""

    most_connections: int = Field(
        default=MOST_CONNECTIONS,
        ge=1,
        le=1_000_000,
        description="Connections that may be open; at most a part of the files that the process "
        "may open: six tenths of them for kube-scheduler's, a fifth for agents', a tenth for "
        "people's. One more, and the one that has asked for nothing for the longest time is ended.",
    )
    body_seconds: float = Field(
        default=BODY_SECONDS,
        ge=0.1,
        le=3600,
        description="How long the body of a request may take; then its connection is ended.",
    )


class SchedulerSection(_Listening):
    """The listener that kube-scheduler calls, and whose extender this is (docs/tls.md)."""

    most_connections: int = Field(
        default=MOST_SCHEDULER_CONNECTIONS,
        ge=1,
        le=1_000_000,
        description="Connections that may be open; at most six tenths of the files that the "
        "process may open. Nine tenths of them may be calls that wait for their gang, one for each "
        "pod: as many pods as that a gang may have without further requests to the API server.",
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
        description="Address for kube-scheduler. Nobody is asked who he is there, so it must be of "
        "loopback; any other one needs `client_authority`.",
    )
    listen_port: int = Field(default=10261, ge=0, le=65535, description="Port; 0 takes a free one.")
    certificate: Path | None = Field(
        default=None,
        description="Certificate chain in PEM, read again when it changes; no value: in the clear.",
    )
    key: Path | None = Field(default=None, description="Its private key in PEM.")
    client_authority: Path | None = Field(
        default=None,
        description="Certificates in PEM, read again when they change: who calls must show a "
        "certificate that one of them has signed; no value: anybody may call.",
    )
    client_names: Texts = Field(
        default=("shuntyard-kube-scheduler",),
        min_length=1,
        description="With `client_authority`: common names or DNS names of which the caller's "
        "certificate must have one; in the environment separated by commas.",
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
    def _lets_nobody_in_who_is_not_asked(self) -> Self:
        if self.client_authority is None and not _is_loopback(self.listen_host):
            raise ValueError(
                f"listen_host {self.listen_host!r}: expected an address of loopback, because "
                "anybody may call without client_authority"
            )
        return self


class WithoutToken(StrEnum):
    """What the API listener shows to callers who show no token."""

    ALL = "all"
    HEALTH = "health"


class ApiSection(_Listening):
    """The listener for people and probes: read API, `/livez`, `/readyz`, `/metrics`."""

    listen_host: str = Field(default="127.0.0.1", min_length=1, description="Address.")
    listen_port: int = Field(default=10262, ge=0, le=65535, description="Port; 0 takes a free one.")
    certificate: Path | None = Field(
        default=None,
        description="Certificate chain in PEM, read again when it changes; no value: in the clear.",
    )
    key: Path | None = Field(default=None, description="Its private key in PEM.")
    without_token: WithoutToken = Field(
        default=WithoutToken.ALL,
        description="What callers without a token are shown: `all`, as it is for those who come "
        "through the API server's service proxy, which tells nobody's name; `health`: probes only. "
        "What-if needs a token with both. "
        "Callers with a token are shown the namespaces in which they may list pods.",
    )
    audience: str | None = Field(
        default=None,
        min_length=1,
        description="Audience that callers' tokens must have; no value: the API server's own, "
        "which every token for it has.",
    )
    viewer_accounts: Texts = Field(
        default=(f"system:serviceaccount:shuntyard-system:{VIEWERS_ACCOUNT}",),
        description="User names whose tokens for the audience `shuntyard-viewers` show that their "
        "bearer has the Role `shuntyard-viewer`: he sees all namespaces and may ask what-if. In "
        "the environment separated by commas.",
    )
    review_cache_seconds: float = Field(
        default=30.0,
        ge=0,
        le=600,
        description="How long it is remembered whose a token is, and what he may see; what he may "
        "not see, ten times as long, but at most ten minutes.",
    )

    _pair = model_validator(mode="after")(_both_or_none)


class AgentsSection(_Listening):
    """The listener for node agents. It is open only with a certificate: agents send tokens."""

    listen_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address; agents of other nodes must reach it.",
    )
    listen_port: int = Field(default=10263, ge=0, le=65535, description="Port; 0 takes a free one.")
    certificate: Path | None = Field(
        default=None,
        description="Certificate chain in PEM, read again when it changes; no value: the listener "
        "is not opened, and nothing is known of training progress.",
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
        description="User names that agents may have; in the environment separated by commas.",
    )
    token_cache_seconds: float = Field(
        default=60.0,
        ge=0,
        le=3600,
        description="How long a token that the API server accepted is not asked about again. A "
        "deleted agent's token is good for so long.",
    )
    most_body_bytes: int = Field(
        default=4 * 2**20,
        ge=2**16,
        le=2**28,
        description="Largest heartbeat, unpacked; a full one takes about 1.5 KB a pod.",
    )

    _pair = model_validator(mode="after")(_both_or_none)

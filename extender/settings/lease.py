"""The sections of the settings file about leader election, and the ways to the leader."""

import ipaddress
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from shared import labels
from shared.settings import Section


class LeaseSection(Section):
    """The Lease that names the leader: kube-scheduler's, or with `hold` one of our own."""

    namespace: str = Field(
        default="kube-system",
        min_length=1,
        description="`leaderElection.resourceNamespace` of kube-scheduler's configuration.",
    )
    name: str = Field(
        default=labels.SCHEDULER_NAME,
        min_length=1,
        description="`leaderElection.resourceName` of kube-scheduler's configuration.",
    )
    hold: bool = Field(
        default=False,
        description="Whether the extender takes the Lease itself, for a kube-scheduler that runs "
        "elsewhere (docs/tls.md). Then it must not be kube-scheduler's.",
    )
    duration_seconds: float = Field(
        default=15.0,
        ge=1,
        le=600,
        description="With `hold`: how long standbys wait after the last renewal they saw.",
    )
    renew_deadline_seconds: float = Field(
        default=10.0,
        ge=0.5,
        le=600,
        description="With `hold`: without a renewal for so long, the leader steps down.",
    )
    retry_seconds: float = Field(
        default=2.0, ge=0.05, le=60, description="With `hold`: time between two attempts."
    )

    @model_validator(mode="after")
    def _steps_down_before_another_may_lead(self) -> Self:
        rising = (self.retry_seconds, self.renew_deadline_seconds, self.duration_seconds)
        if not rising[0] < rising[1] < rising[2]:
            raise ValueError(
                "retry_seconds, renew_deadline_seconds, duration_seconds: "
                f"{', '.join(f'{seconds:g}' for seconds in rising)} must rise"
            )
        return self


class EndpointSection(Section):
    """How a kube-scheduler elsewhere reaches the leader (docs/tls.md)."""

    service: str | None = Field(
        default=None,
        min_length=1,
        description="Service without a selector; the leader writes its address into the "
        "EndpointSlice of the same name, which must exist. No value: none is written.",
    )
    namespace: str = Field(
        default="shuntyard-system", min_length=1, description="Namespace of the Service."
    )
    port_name: str = Field(
        default="scheduler", description="Name of the Service's port; may be empty."
    )
    address: str | None = Field(
        default=None,
        description="This pod's IP address: `SHUNTYARD__ENDPOINT__ADDRESS` from the field "
        "`status.podIP`.",
    )

    @field_validator("address")
    @classmethod
    def _is_an_address(cls, address: str | None) -> str | None:
        if address is not None:
            ipaddress.ip_address(address)
        return address

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if self.service is not None and self.address is None:
            raise ValueError("address: expected this pod's IP address, because service is set")
        return self


class PeersSection(Section):
    """How a standby passes reads on to the leader (docs/high-availability.md)."""

    service: str | None = Field(
        default=None,
        min_length=1,
        description="Service of the read API; the leader is the pod behind it that the Lease "
        "names. No value: a standby answers from what it knows itself.",
    )
    namespace: str = Field(
        default="shuntyard-system", min_length=1, description="Namespace of the Service."
    )
    port_name: str = Field(default="api", description="Name of the Service's port.")
    authority: Path | None = Field(
        default=None,
        description="With `api.certificate`: authorities of the replicas' certificates, in PEM; no "
        "value: those that the system trusts.",
    )
    server_name: str | None = Field(
        default=None,
        min_length=1,
        description="Name in the replicas' certificates; no value: `<service>.<namespace>.svc`.",
    )

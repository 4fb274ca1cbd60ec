"""The section of the settings file about certificates that the extender makes for itself."""

import ipaddress
import re
from pathlib import Path
from typing import Final, Self

from pydantic import Field, field_validator, model_validator

from extender.settings.listeners import Texts
from shared.settings import Section

_DNS_NAME: Final = re.compile(
    r"(?=.{1,253}$)(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.|$))+(?<!\.)"
)


class CertificatesSection(Section):
    """Certificates that the replicas make and renew themselves (docs/tls.md)."""

    managed: bool = Field(
        default=False,
        description="Whether they do. The Secret and the ConfigMaps must exist; the replicas fill "
        "them. Off: mount the files, and name them in the sections of the listeners.",
    )
    directory: Path = Field(
        default=Path("/run/shuntyard/certificates"),
        description="Directory of `ca.crt`, `tls.crt`, `tls.key`, `client.crt` and `client.key`, "
        "as links; it must be writable, and should be in memory. `ca.key` is never there.",
    )
    namespace: str = Field(
        default="shuntyard-system", min_length=1, description="Namespace of the Secret."
    )
    secret: str = Field(
        default="shuntyard-certificates",
        min_length=1,
        description="Secret that keeps all of them, and the authority's key.",
    )
    authority_config_map: str = Field(
        default="shuntyard-ca",
        min_length=1,
        description="ConfigMap whose key `ca.crt` has the authorities that agents trust.",
    )
    authority_namespaces: Texts = Field(
        default=("shuntyard-agents",),
        description="Namespaces that have that ConfigMap; in the environment separated by commas.",
    )
    authority: Path | None = Field(
        default=None,
        description="Without `managed`: file with the authorities, in PEM, that the leader writes "
        "into that ConfigMap; read again when it changes. No value: the ConfigMap is not written.",
    )
    names: Texts = Field(
        default=(
            "shuntyard-agents.shuntyard-system.svc",
            "shuntyard-extender.shuntyard-system.svc",
            "shuntyard-scheduler.shuntyard-system.svc",
        ),
        min_length=1,
        description="DNS names and addresses in the listeners' certificate; a new one is made when "
        "they change. In the environment separated by commas.",
    )
    client_name: str = Field(
        default="shuntyard-kube-scheduler",
        max_length=64,
        pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        description="Common name and DNS name of the client certificate for a kube-scheduler "
        "elsewhere.",
    )
    valid_days: float = Field(
        default=90.0,
        ge=0.001,
        le=3650,
        description="How long a certificate is valid; after two thirds it is renewed.",
    )
    authority_valid_days: float = Field(
        default=1825.0,
        ge=0.01,
        le=36500,
        description="How long an authority is valid. The old one signs the new one too, so that "
        "clients which trust either accept its certificates.",
    )
    wait_seconds: float = Field(
        default=60.0,
        ge=1,
        le=600,
        description="How long the start waits for the certificates from the API server.",
    )

    @field_validator("names")
    @classmethod
    def _are_names_as_a_certificate_has_them(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Spell each name as certificates do: any other name would need a new certificate."""
        return tuple(_host(name) for name in names)

    @model_validator(mode="after")
    def _has_one_authority(self) -> Self:
        if self.managed and self.authority is not None:
            raise ValueError(
                "authority: expected no value with managed, which makes its own authority"
            )
        return self

    @model_validator(mode="after")
    def _has_an_authority_that_outlives_what_it_signs(self) -> Self:
        if self.authority_valid_days < 4 * self.valid_days:
            raise ValueError(
                f"authority_valid_days {self.authority_valid_days:g}: expected at least four times "
                f"valid_days {self.valid_days:g}"
            )
        return self


def _host(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        lower = name.lower()
        if not _DNS_NAME.fullmatch(lower):
            raise ValueError(f"{name!r}: expected a DNS name or an IP address") from None
        return lower

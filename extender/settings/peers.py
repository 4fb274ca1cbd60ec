"""The section of the settings file about the way from a standby to the leader."""

from pathlib import Path

from pydantic import Field

from shared.settings import Section


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

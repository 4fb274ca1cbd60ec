"""The section of the settings file that says how a standby finds the replica that acts."""

from pathlib import Path

from pydantic import Field

from shared.settings import Section


class PeersSection(Section):
    """Where reads go on to that reach a replica which does not act (docs/high-availability.md)."""

    service: str | None = Field(
        default=None,
        min_length=1,
        description="Service of the read API; the replica that acts is the pod behind it whose "
        "name the Lease has. No value: a standby answers from what it knows itself.",
    )
    namespace: str = Field(
        default="shuntyard-system", min_length=1, description="Namespace of the Service."
    )
    port_name: str = Field(default="api", description="Name of the Service's port.")
    authority: Path | None = Field(
        default=None,
        description="With `api.certificate`: authorities in PEM that have signed the replicas' "
        "certificates; no value: those that the system trusts.",
    )
    server_name: str | None = Field(
        default=None,
        min_length=1,
        description="Name in the replicas' certificates; no value: `<service>.<namespace>.svc`.",
    )

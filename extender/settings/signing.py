"""The section of the settings file for the keys that sign what we write for ourselves."""

from pydantic import Field

from shared.settings import Section


class SigningSection(Section):
    """Signatures of seats, of records on owners and of Migrations (docs/our-keys.md)."""

    secret: str | None = Field(
        default=None,
        min_length=1,
        description="Secret that keeps the keys; it must exist, and the first replica fills it. No "
        "value: nothing is signed, and everybody who may edit a pod may give it a seat.",
    )
    namespace: str = Field(
        default="shuntyard-system", min_length=1, description="Namespace of the Secret."
    )
    wait_seconds: float = Field(
        default=60.0,
        ge=1,
        le=600,
        description="How long the start waits for the API server to give the keys.",
    )

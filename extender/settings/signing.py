"""The section of the settings file about the keys that sign our own records."""

from pydantic import Field

from shared.settings import Section


class SigningSection(Section):
    """Signatures of reservations, records on owners, and Migrations (docs/our-keys.md)."""

    secret: str | None = Field(
        default=None,
        min_length=1,
        description="Secret with the keys; it must exist, and the first replica fills it. No "
        "value: nothing is signed, and every user who may edit a pod may reserve a node for it.",
    )
    namespace: str = Field(
        default="shuntyard-system", min_length=1, description="Namespace of the Secret."
    )
    wait_seconds: float = Field(
        default=60.0,
        ge=1,
        le=600,
        description="How long the start waits for the keys from the API server.",
    )

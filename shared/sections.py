"""Sections of the settings file that every program of ours has."""

from pydantic import Field

from shared.logs import Format, Level
from shared.settings import Section


class LoggingSection(Section):
    """The log on standard error."""

    level: Level = Field(
        default=Level.INFO,
        description="`info`: what changed; `warning`: trouble that mends itself; `error`: a "
        "person must look; `debug`: every request.",
    )
    format: Format = Field(
        default=Format.JSON, description="`json`: one object a line; `text`: for people."
    )


class HealthSection(Section):
    """When the program counts as dead."""

    loop_max_age_seconds: float = Field(
        default=60.0,
        ge=1,
        le=3600,
        description="A loop that gave no sign of life for longer makes `/livez` fail.",
    )

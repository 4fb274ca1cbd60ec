"""Which release this command is of, and what it speaks: what ``--version`` prints."""

from importlib.metadata import PackageNotFoundError, version

from shared import api


def name() -> str:
    """Return the release; ``unknown`` when run from sources that are not installed."""
    try:
        return version("shuntyard")
    except PackageNotFoundError:
        return "unknown"


def sentence() -> str:
    """Return the release and the version of the read API that it understands."""
    return f"shuntyard {name()}, reads {api.API_VERSION}"

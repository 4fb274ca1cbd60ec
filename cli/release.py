"""The release of this command and its version of the read API, as ``--version`` prints them."""

from importlib.metadata import PackageNotFoundError, version

from shared.readapi import api


def name() -> str:
    """Return the release; ``unknown`` when run from sources without an installation."""
    try:
        return version("shuntyard")
    except PackageNotFoundError:
        return "unknown"


def sentence() -> str:
    """Return the line that ``--version`` prints."""
    return f"shuntyard {name()}, reads {api.API_VERSION}"

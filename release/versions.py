"""The version of a release: its tag, its notes, and how it was built.

The tag of the source is ``v`` and the version. Images, chart and distributions carry the version
without the ``v``, as Helm and PyPI want it.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from release.errors import ReleaseError
from release.locks import ROOT

WORKFLOW: Final = ".github/workflows/release.yaml"
_BUILD_TYPE: Final = "https://slsa-framework.github.io/github-actions-buildtypes/workflow/v1"
_SECTION: Final = r"^## {}(?:[ ,][^\n]*)?\n(.*?)(?=^## |\Z)"


def stated() -> str:
    """Return the version of ``pyproject.toml``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def of_tag(tag: str) -> str:
    """Return the version that a tag names.

    Raises:
        ReleaseError: The tag is not ``v`` and the version of ``pyproject.toml``.
    """
    version = stated()
    if tag != f"v{version}":
        raise ReleaseError(
            f"tag {tag}: expected v{version}, the version of pyproject.toml; change one of them"
        )
    return version


def notes(version: str, changelog: str) -> str:
    """Return the part of the changelog that is about one version, without its heading.

    Raises:
        ReleaseError: The changelog has no such part, or an empty one.
    """
    section = _SECTION.format(re.escape(version))
    found = re.search(section, changelog, re.MULTILINE | re.DOTALL)
    text = found[1].strip() if found else ""
    if not text:
        raise ReleaseError(
            f"CHANGELOG.md has nothing about {version}: expected a section `## {version}, DATE`"
        )
    return f"{text}\n"


def provenance(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the predicate that says from which commit and by which run this release was built.

    Args:
        environ: The variables that GitHub gives each step of a workflow.

    Raises:
        ReleaseError: One of them is missing.

    Source:
        https://slsa.dev/spec/v1.0/provenance and the build type that it names.
    """

    def given(name: str) -> str:
        value = environ.get(f"GITHUB_{name}", "")
        if not value:
            raise ReleaseError(f"GITHUB_{name} is not set: expected to run in a workflow")
        return value

    repository = f"{given('SERVER_URL')}/{given('REPOSITORY')}"
    run = f"{repository}/actions/runs/{given('RUN_ID')}/attempts/{given('RUN_ATTEMPT')}"
    return {
        "buildDefinition": {
            "buildType": _BUILD_TYPE,
            "externalParameters": {
                "workflow": {"ref": given("REF"), "repository": repository, "path": WORKFLOW}
            },
            "internalParameters": {"github": {"event_name": given("EVENT_NAME")}},
            "resolvedDependencies": [
                {
                    "uri": f"git+{repository}@{given('REF')}",
                    "digest": {"gitCommit": given("SHA")},
                }
            ],
        },
        "runDetails": {
            "builder": {"id": f"{repository}/{WORKFLOW}@{given('REF')}"},
            "metadata": {"invocationId": run},
        },
    }

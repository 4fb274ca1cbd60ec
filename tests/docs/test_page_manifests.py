"""YAML on any page can be read, and what is an object of Kubernetes keeps its schema."""

from pathlib import Path

import pytest
import yaml

from tests.docs import blocks, manifests, references
from tests.docs.pages import ROOT, pages, short

WITH_YAML = [page for page in pages() if manifests.yaml_blocks(page)]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
OURS = {"shuntyard.io/v1alpha1"}  # its schema is deploy/base/crd.yaml's


@pytest.mark.parametrize("page", WITH_YAML, ids=short)
def test_yaml_on_a_page_parses_and_fits_the_schemas(page: Path) -> None:
    for block in manifests.yaml_blocks(page):
        try:
            found = manifests.objects(block.text)
        except yaml.YAMLError as error:
            pytest.fail(f"{short(page)}:{block.line}: {error}")
        for obj in found:
            if obj["apiVersion"] not in OURS:
                manifests.check_schema(obj)


@pytest.mark.parametrize("path", EXAMPLES, ids=short)
def test_examples_fit_the_schemas_and_are_read_without_a_warning(path: Path) -> None:
    found = manifests.objects(path.read_text())
    for obj in found:
        manifests.check_schema(obj)
    assert {job.problem for job in manifests.jobs_of(found)} <= {None}


@pytest.mark.parametrize("page", pages(), ids=short)
def test_calls_of_our_command_on_a_page_parse(page: Path) -> None:
    typed = [b for b in blocks.of_page(page) if b.language in {*blocks.SHELLS, "console", ""}]
    calls = [line for b in typed for line in b.text.splitlines()]
    text = "\n".join(["```sh", *(c.removeprefix("$ ") for c in calls), "```"])
    references.check_commands(text)

"""deploy/README.md names every folder, and its examples work as described."""

import re
from typing import Any

import yaml

from tests.deploy.rendering import DEPLOY, SETUPS, kustomized, needs_kubectl
from tests.docs import blocks

PAGE = DEPLOY / "README.md"


def quoted(key: str, containing: str) -> dict[str, Any]:
    """Return the block that begins with a key and has a text in it."""
    (text,) = (
        one.text
        for one in blocks.of_page(PAGE)
        if one.language == "yaml" and one.text.startswith(f"{key}:") and containing in one.text
    )
    block: dict[str, Any] = yaml.safe_load(text)
    return block


def test_the_table_has_every_folder() -> None:
    folders = {
        str(one.parent.relative_to(DEPLOY)) for one in DEPLOY.glob("*/**/kustomization.yaml")
    }
    table = re.findall(
        r"^\| `([a-z/-]+)` \| `(resources|components)`", PAGE.read_text(), re.MULTILINE
    )
    assert {folder for folder, _ in table} == folders
    assert all((kind == "components") == folder.startswith("components") for folder, kind in table)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE.read_text())
    assert links
    assert [one for one in links if not (DEPLOY / one).is_file()] == []


@needs_kubectl
def test_the_share_of_the_nfs_example_can_be_set_by_the_patch() -> None:
    setup = SETUPS["everything"]
    made = kustomized(setup, quoted("patches", "/spec/nfs"), {})
    shares = [one["spec"]["nfs"] for one in made if one["kind"] == "PersistentVolume"]
    assert shares == [{"server": "files.example.org", "path": "/export/shuntyard"}] * 2


@needs_kubectl
def test_settings_are_replaced_as_a_whole_and_the_pods_mount_them() -> None:
    block = quoted("configMapGenerator", "behavior: replace")
    text = "queue:\n  order: creation\n"
    made = kustomized(SETUPS["the base alone"], block, {"extender.yaml": text})
    (found,) = (one for one in made if one.get("data") == {"extender.yaml": text})
    (deployment,) = (one for one in made if one["kind"] == "Deployment")
    assert found["metadata"]["name"] in yaml.safe_dump(deployment)


@needs_kubectl
def test_the_port_of_the_read_api_can_be_closed_by_the_patch() -> None:
    made = kustomized(SETUPS["the base alone"], quoted("patches", "NetworkPolicy"), {})
    rules = next(
        one["spec"]["ingress"]
        for one in made
        if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == "shuntyard-extender"
    )
    (api,) = (rule for rule in rules if rule["ports"] == [{"port": "api"}])
    assert [next(iter(peer)) for peer in api["from"]] == ["ipBlock", "namespaceSelector"]

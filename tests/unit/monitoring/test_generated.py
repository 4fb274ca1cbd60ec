"""The generated files are current, and kustomization.yaml lists them."""

from pathlib import Path

import yaml

from monitoring import manifests
from monitoring.__main__ import ROOT, generate, main
from monitoring.dashboards import ALL
from tests.unit.monitoring.promtool import needs_promtool, promtool

FOLDER = ROOT / manifests.FOLDER


def test_the_files_are_current() -> None:
    """`python -m monitoring generate` makes them so."""
    assert generate(ROOT, check=True) == 0


def test_check_finds_changed_missing_and_extra_files(tmp_path: Path) -> None:
    assert main(["generate", "--check", "--root", str(tmp_path)]) == 1
    assert main(["generate", "--root", str(tmp_path)]) == 0
    assert main(["generate", "--check", "--root", str(tmp_path)]) == 0
    old = tmp_path / manifests.FOLDER / "dashboards/old.json"
    old.write_text("{}")
    assert main(["generate", "--check", "--root", str(tmp_path)]) == 1
    assert main(["generate", "--root", str(tmp_path)]) == 0
    assert not old.exists()


def test_kustomize_lists_every_file_and_no_missing_one() -> None:
    kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    maps = kustomization["configMapGenerator"]
    files = [file.partition("=")[2] for one in maps for file in one["files"]]
    assert files == [f"dashboards/{one.name}.json" for one in ALL]
    assert all((FOLDER / name).is_file() for name in [*files, *kustomization["resources"]])
    assert all(one["options"]["labels"]["grafana_dashboard"] == "1" for one in maps)


def test_monitors_select_the_labels_of_the_base() -> None:
    agents = yaml.safe_load_all((ROOT / "deploy/base/agent.yaml").read_text())
    (template,) = [one["spec"]["template"] for one in agents if one["kind"] == "DaemonSet"]
    monitor = yaml.safe_load((FOLDER / "pod-monitor.yaml").read_text())["spec"]
    wanted = monitor["selector"]["matchLabels"].items()
    assert wanted <= template["metadata"]["labels"].items()
    (container,) = template["spec"]["containers"]
    assert monitor["podMetricsEndpoints"][0]["port"] in {p["name"] for p in container["ports"]}


@needs_promtool
def test_promtool_takes_the_plain_rules() -> None:
    assert "SUCCESS" in promtool("check", "rules", FOLDER / "plain/rules.yaml")

"""Settings of an operator that runs beside the cluster on this machine."""

from dataclasses import replace
from pathlib import Path

import yaml

from devcluster import operator_catalog, operators

WEBHOOKS = """
---
kind: Deployment
metadata:
  name: program
---
kind: MutatingWebhookConfiguration
metadata:
  name: hooks
webhooks:
- name: m.kb.io
  clientConfig:
    service:
      name: webhook-service
      namespace: system
      path: /mutate
  failurePolicy: Fail
---
"""


def test_webhooks_are_called_on_this_machine_with_the_clusters_authority(tmp_path):
    (tmp_path / "manifests.yaml").write_text(WEBHOOKS)
    operator = replace(operator_catalog.JOB_SET, webhooks="manifests.yaml")
    (found,) = operators._hooks(tmp_path, operator, 9443, "Q0E=")
    (hook,) = found["webhooks"]
    assert found["metadata"]["name"] == "jobset-hooks"  # another project's has the same name
    assert hook["clientConfig"] == {"url": "https://127.0.0.1:9443/mutate", "caBundle": "Q0E="}
    assert hook["failurePolicy"] == "Fail"
    (found,) = operators._hooks(tmp_path, replace(operator, looks_for_webhooks=True), 9443, "Q0E=")
    assert found["metadata"]["name"] == "hooks"


def test_an_operator_is_built_of_one_version_and_its_configuration_is_yaml():
    for name, operator in operator_catalog.OPERATORS.items():
        assert operator.name == name
        assert operator.version.startswith("v")
        assert yaml.safe_load(yaml.safe_dump(dict(operator.config))) == operator.config


def test_a_module_that_points_to_a_local_folder_gets_the_published_version():
    edit, build = operators._commands(operator_catalog.VOLCANO)
    assert edit == ["mod", "edit", "-replace=volcano.sh/apis=volcano.sh/apis@v1.14.0"]
    assert build[:2] == ["build", "-mod=mod"]
    (build,) = operators._commands(operator_catalog.JOB_SET)
    assert "-mod=mod" not in build  # all is as its authors fixed it


def test_an_operator_gets_the_path_of_its_certificate_unless_it_is_compiled_in(tmp_path):
    def webhook(operator):
        operators._arguments(operator, tmp_path, 9443, Path("kubeconfig"))
        return yaml.safe_load((tmp_path / "config.yaml").read_text())["webhook"]

    operator = operator_catalog.JOB_SET
    there = {"port": 9443, "host": "127.0.0.1"}
    assert webhook(operator) == {**there, "certDir": str(tmp_path)}
    strict = replace(operator, certificates=Path("/compiled/in"))
    assert webhook(strict) == there  # it may refuse a field that it does not know
    both = replace(strict, config={"webhook": {"certDir": "/compiled/in"}})
    assert webhook(both) == {**there, "certDir": "/compiled/in"}

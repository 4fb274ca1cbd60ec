"""What an operator needs in a cluster that runs beside it on this machine."""

import yaml

from devcluster import operator_catalog, operators

WEBHOOKS = """
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
    file = tmp_path / "manifests.yaml"
    file.write_text(WEBHOOKS)
    (found,) = operators._hooks(file, 9443, "Q0E=")
    (hook,) = found["webhooks"]
    assert hook["clientConfig"] == {"url": "https://127.0.0.1:9443/mutate", "caBundle": "Q0E="}
    assert hook["failurePolicy"] == "Fail"


def test_an_operator_is_built_of_one_version_and_its_configuration_is_yaml():
    for name, operator in operator_catalog.OPERATORS.items():
        assert operator.name == name
        assert operator.version.startswith("v")
        assert yaml.safe_load(yaml.safe_dump(dict(operator.config))) == operator.config

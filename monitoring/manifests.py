"""Manifests for the Prometheus operator and Grafana: monitors, rules, dashboards, kustomization."""

from typing import Any, Final

import yaml

from monitoring import grafana
from monitoring.dashboards import ALL
from monitoring.rules import printing

FOLDER: Final = "deploy/overlays/monitoring"
_PART: Final = {"app.kubernetes.io/part-of": "shuntyard"}
_API: Final = "monitoring.coreos.com/v1"

Json = dict[str, Any]


def files(runbooks: str = printing.RUNBOOKS) -> dict[str, str]:
    """Return every generated file: content by path from the repository's root."""
    files = {f"dashboards/{one.name}.json": grafana.text(one) for one in ALL}
    files["kustomization.yaml"] = _printed(_kustomization())
    files["prometheus-rule.yaml"] = printing.resource(runbooks)
    files["service-monitor.yaml"] = _printed(_service_monitor())
    files["pod-monitor.yaml"] = _printed(_pod_monitor())
    files["plain/rules.yaml"] = printing.plain(runbooks)
    return {f"{FOLDER}/{name}": text for name, text in sorted(files.items())}


def _kustomization() -> Json:
    """Return the kustomization; it adds to an installation and changes nothing of it."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["pod-monitor.yaml", "prometheus-rule.yaml", "service-monitor.yaml"],
        "configMapGenerator": [
            {
                "name": f"shuntyard-dashboard-{one.name}",
                "namespace": "shuntyard-system",
                "files": [f"shuntyard-{one.name}.json=dashboards/{one.name}.json"],
                "options": {
                    "disableNameSuffixHash": True,
                    "labels": {**_PART, "grafana_dashboard": "1"},
                    "annotations": {"grafana_folder": "Shuntyard"},
                },
            }
            for one in ALL
        ],
    }


def _service_monitor() -> Json:
    endpoint = {"port": "api", "path": "/metrics", "interval": "30s", "scrapeTimeout": "10s"}
    return {
        "apiVersion": _API,
        "kind": "ServiceMonitor",
        "metadata": {"name": "shuntyard", "namespace": "shuntyard-system", "labels": _PART},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": "shuntyard-extender"}},
            "endpoints": [endpoint],
        },
    }


def _pod_monitor() -> Json:
    """Return the agents' monitor; all its series get the node's name as a label."""
    node = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}
    endpoint = {
        "port": "api", "path": "/metrics", "interval": "30s", "scrapeTimeout": "10s",
        "relabelings": [node],
    }  # fmt: skip
    return {
        "apiVersion": _API,
        "kind": "PodMonitor",
        "metadata": {"name": "shuntyard", "namespace": "shuntyard-agents", "labels": _PART},
        "spec": {
            "jobLabel": "app.kubernetes.io/name",
            "selector": {"matchLabels": {"app.kubernetes.io/name": "shuntyard-agent"}},
            "podMetricsEndpoints": [endpoint],
        },
    }


def _printed(content: Json) -> str:
    return printing.GENERATED + yaml.safe_dump(content, sort_keys=False, width=100)

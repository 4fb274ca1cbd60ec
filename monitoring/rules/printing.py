"""Rules in Prometheus' format: a plain file, and the operator's PrometheusRule."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from monitoring.rules import ALERTS
from monitoring.rules.model import Alert, Recording
from monitoring.rules.recording import RECORDINGS

NAME: Final = "shuntyard"
RUNBOOKS: Final = "https://shuntyard.io/docs/runbooks"
"""URL of the pages of docs/runbooks; ``generate --runbooks`` sets another one."""
GENERATED: Final = "# Made by `python -m monitoring generate`; change monitoring/ instead.\n"

Json = dict[str, Any]


def groups(
    runbooks: str = RUNBOOKS,
    recordings: Iterable[Recording] = RECORDINGS,
    alerts: Iterable[Alert] = ALERTS,
) -> Json:
    """Return the content of a rules file."""
    return {
        "groups": [
            {
                "name": f"{NAME}.recordings",
                "rules": [{"record": one.name, "expr": one.text} for one in recordings],
            },
            {"name": f"{NAME}.alerts", "rules": [_alert(one, runbooks) for one in alerts]},
        ]
    }


def plain(runbooks: str = RUNBOOKS) -> str:
    """Return the rules file for a Prometheus without an operator."""
    return GENERATED + _yaml(groups(runbooks))


def resource(runbooks: str = RUNBOOKS) -> str:
    """Return the PrometheusRule."""
    return GENERATED + _yaml(
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {
                "name": NAME,
                "namespace": "shuntyard-system",
                "labels": {"app.kubernetes.io/part-of": NAME},
            },
            "spec": groups(runbooks),
        }
    )


def expressions() -> Iterator[tuple[str, str]]:
    """Yield the name and the query of every rule."""
    yield from ((one.name, one.text) for one in RECORDINGS)
    yield from ((one.name, one.text) for one in ALERTS)


def _alert(alert: Alert, runbooks: str) -> Json:
    rule: Json = {"alert": alert.name, "expr": alert.text}
    if alert.wait:
        rule["for"] = alert.wait
    return {
        **rule,
        "labels": {"severity": alert.severity.value},
        "annotations": {
            "summary": alert.summary,
            "description": alert.about,
            "runbook_url": f"{runbooks}/{alert.name}.md",
        },
    }


def _yaml(content: Json) -> str:
    return yaml.safe_dump(content, sort_keys=False, width=100, allow_unicode=True)

"""What kube-apiserver writes down: the calls of our programs, one line each, without any content.

Source:
    kubernetes.io/docs/tasks/debug/debug-cluster/audit: the first rule that matches decides.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

EXTENDER: Final = "system:serviceaccount:shuntyard-system:shuntyard-extender"
SCHEDULER: Final = "system:kube-scheduler"
AGENTS: Final = "system:serviceaccounts:shuntyard-agents"
"""A group: everybody who has an account of the agents' namespace."""
VIEWERS: Final = "shuntyard:viewers"
"""A group for people of tests who have the role ``shuntyard-viewer``."""

LOG: Final = "calls.log"
MOST_MEGABYTES: Final = 100
MOST_OLD_FILES: Final = 19


def policy() -> Mapping[str, Any]:
    """Return the audit policy: who called for what, of these users and groups alone."""
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        # A watch that is still open has only begun.
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "Metadata", "users": [EXTENDER, SCHEDULER]},
            {"level": "Metadata", "userGroups": [AGENTS, VIEWERS]},
            {"level": "None"},
        ],
    }


def flags(directory: Path) -> Mapping[str, object]:
    """Write the policy into a directory, and return what kube-apiserver is told.

    Each line is on disk before the call is answered. Old files go when there are too many; reading
    them then is an error (`calls.read`).
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "policy.yaml"
    file.write_text(yaml.safe_dump(policy(), sort_keys=False))
    return {
        "audit-policy-file": file,
        "audit-log-path": directory / LOG,
        "audit-log-mode": "blocking-strict",
        "audit-log-maxsize": MOST_MEGABYTES,
        "audit-log-maxbackup": MOST_OLD_FILES,
    }

"""Whether the cluster adds our gate itself, found out by a dry run of a pod.

The policy of ``deploy/components/gate`` adds the gate to new pods while jobs lack room, and always
to pods whose job may be moved. So a pod that may be moved comes back with the gate where the policy
is in force, whatever the queue is like.

Source:
    docs/policies/gang.md, "When pods get the gate".
"""

from http import HTTPStatus
from typing import Any, Final

import msgspec

from cli.connection import AnyApiServer
from cli.errors import UnansweredError
from shared import labels
from shared.kube import paths

_QUERY: Final = {"dryRun": "All", "fieldManager": "shuntyard-submit"}
_RESTRICTED: Final = {
    "runAsNonRoot": True,
    "runAsUser": 65534,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
_LITTLE: Final = {"cpu": "1m", "memory": "1Mi"}
_POD: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "shuntyard-submit-", "annotations": {labels.CHECKPOINT: "/"}},
    "spec": {
        "schedulerName": labels.SCHEDULER_NAME,
        "containers": [
            {
                "name": "main",
                "image": "none",
                "resources": {"requests": _LITTLE, "limits": _LITTLE},
                "securityContext": _RESTRICTED,
            }
        ],
    },
}
"""It passes what namespaces commonly demand: a quota, and the strictest of the Pod Security
Standards."""


def adds_gate(server: AnyApiServer, namespace: str) -> bool:
    """Return True if new pods of a namespace get the gate when it is needed.

    False also where that is not known, for example because the user may not create pods.
    """
    path = paths.pods(namespace)
    try:
        answer = server.ask(path, _QUERY, msgspec.json.encode(_POD))
    except UnansweredError:
        return False
    if answer.status != HTTPStatus.CREATED:
        return False
    return labels.GATE in _gates(msgspec.json.decode(answer.body))


def _gates(pod: Any) -> list[Any]:
    gates = pod.get("spec", {}).get("schedulingGates") or []
    return [gate.get("name") for gate in gates]

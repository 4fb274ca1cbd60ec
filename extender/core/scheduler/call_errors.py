"""Why a call of kube-scheduler fails as a whole, so that it tries the pod again with back-off."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class CallError:
    """One cause; ``text`` is the error of the answer, which people find in the pod's Events."""

    text: str


POD_GONE: Final = CallError("shuntyard: the pod is gone")
POD_LEAVING: Final = CallError("shuntyard: the pod is being deleted")
BOUND_ELSEWHERE: Final = CallError("shuntyard: the pod is bound to another node")
NODE_GONE: Final = CallError("shuntyard: the node is gone")
PLAN_CHANGED: Final = CallError("shuntyard: the pod is planned on another node")
NO_SEAT: Final = CallError("shuntyard: the pod has no seat any more")
GANG_NOT_THERE: Final = CallError("shuntyard: the rest of the gang did not arrive in time")
NO_NEED_TO_WAIT: Final = CallError(
    "shuntyard: the pod is bound with its gang; too many calls wait for this one to wait too"
)
STANDBY: Final = CallError("shuntyard: this replica does not act")


def binding_failed(reason: str) -> CallError:
    """Return the error of a Binding that the API server refused for a reason of its own."""
    return CallError(f"shuntyard: binding failed: {reason}")

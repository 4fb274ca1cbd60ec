"""Recording rules and alerts; ``ALERTS`` has all alerts in the order of the documentation."""

from typing import Final

from monitoring.rules.alerts_alive import ALIVE
from monitoring.rules.alerts_certificates import CERTIFICATES
from monitoring.rules.alerts_scheduling import SCHEDULING
from monitoring.rules.alerts_training import TRAINING

ALERTS: Final = (*ALIVE, *SCHEDULING, *TRAINING, *CERTIFICATES)

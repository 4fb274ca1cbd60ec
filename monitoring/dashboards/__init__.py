"""The dashboards; ``ALL`` has them in the order of the documentation."""

from typing import Final

from monitoring.dashboards.convergence import CONVERGENCE
from monitoring.dashboards.fairness import FAIRNESS
from monitoring.dashboards.health import HEALTH
from monitoring.dashboards.migrations import MIGRATIONS
from monitoring.dashboards.overview import OVERVIEW
from monitoring.dashboards.parkings import PARKINGS
from monitoring.dashboards.prices import PRICES
from monitoring.dashboards.rescales import RESCALES
from monitoring.dashboards.teams import TEAMS

ALL: Final = (
    *(OVERVIEW, FAIRNESS, PRICES, CONVERGENCE, MIGRATIONS, HEALTH, RESCALES),
    *(PARKINGS, TEAMS),
)

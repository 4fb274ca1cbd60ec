"""What handlers find in the application and in the request, typed."""

from typing import Final

from aiohttp import web

from extender.metrics.extender import ExtenderMetrics, Outcome
from extender.servers.agents.answers import AgentAnswers
from extender.servers.metrics_page import MetricsPage
from extender.servers.readapi.answers import ReadAnswers
from extender.servers.scheduler.answers import SchedulerAnswers
from shared.health import Health

SCHEDULER: Final = web.AppKey("scheduler", SchedulerAnswers)
AGENTS: Final = web.AppKey("agents", AgentAnswers)
READ: Final = web.AppKey("read", ReadAnswers)
HEALTH: Final = web.AppKey("health", Health)
METRICS: Final = web.AppKey("metrics", ExtenderMetrics)
PAGE: Final = web.AppKey("page", MetricsPage)

OUTCOME: Final = web.RequestKey("outcome", Outcome)
"""Set by a handler whose answer has status 200 and is a refusal."""

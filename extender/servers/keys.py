"""What handlers find in the application and in the request, typed."""

from typing import Final

from aiohttp import web

from extender.metrics.extender import ExtenderMetrics, Outcome
from extender.servers.metrics_page import MetricsPage
from extender.servers.ports import AgentPort, HealthPort, ReadPort, SchedulerPort

SCHEDULER: Final = web.AppKey("scheduler", SchedulerPort)
AGENTS: Final = web.AppKey("agents", AgentPort)
READ: Final = web.AppKey("read", ReadPort)
HEALTH: Final = web.AppKey("health", HealthPort)
METRICS: Final = web.AppKey("metrics", ExtenderMetrics)
PAGE: Final = web.AppKey("page", MetricsPage)

OUTCOME: Final = web.RequestKey("outcome", Outcome)
"""Set by a handler whose answer has status 200 and is a refusal."""

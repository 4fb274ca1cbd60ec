"""Prices: of resources now and in the slots to come, and admission at these prices."""

from typing import Final

from monitoring.panels import WINDOW, Dashboard, Row, Unit, heatmap, lines, quantiles, stacked, wide

RESOURCES: Final = ("memory", "gpu", "cpu", "pods")
_PRICES: Final = (
    lines(
        "Mean price",
        "Mean price of a resource over the nodes that have it: 0 idle, 1 full.",
        Unit.SHARE,
        ('max by (resource) (shuntyard_price_ratio{@, of="mean"})', "{{resource}}"),
    ),
    lines(
        "Most expensive node",
        "Highest price of a resource; above 1 more is taken than exists.",
        Unit.SHARE,
        ('max by (resource) (shuntyard_price_ratio{@, of="most"})', "{{resource}}"),
    ),
    lines(
        "Cheapest node",
        "Lowest price of a resource: the next job goes there, all else equal.",
        Unit.SHARE,
        ('max by (resource) (shuntyard_price_ratio{@, of="least"})', "{{resource}}"),
    ),
)
_NODES: Final = (
    heatmap(
        "Nodes by the price of $resource",
        "Nodes by the price of the chosen resource: time to the right, price upwards, the darker "
        "the more nodes. Single nodes: shuntyard nodes.",
        Unit.NUMBER,
        'max by (band) (shuntyard_priced_nodes{@, resource="$resource"})',
        "band",
    ),
    heatmap(
        "Nodes by the price of CPU",
        "The same of CPU, to compare with.",
        Unit.NUMBER,
        'max by (band) (shuntyard_priced_nodes{@, resource="cpu"})',
        "band",
    ),
)
_SLOTS: Final = (
    heatmap(
        "Prices of $resource in the slots to come",
        "Mean price of the chosen resource so many slots from now, of what belongs to jobs with a "
        "utility: the darker, the dearer. Node by node: shuntyard prices.",
        Unit.NUMBER,
        'max by (ahead) (shuntyard_slot_price_ahead_ratio{@, resource="$resource"})',
        "ahead",
    ),
    wide(
        lines(
            "Price in the present slot",
            "Mean and highest price over all nodes of what belongs to jobs with a utility: 0 "
            "nothing is promised, 1 all is.",
            Unit.SHARE,
            (
                "max by (resource, of) (shuntyard_slot_price_ratio{@})",
                "{{resource}} {{of}}",
            ),
        )
    ),
)
_ADMISSION: Final = (
    lines(
        "Offers",
        "Jobs with a utility in the window that were admitted, turned away, or lost their place.",
        Unit.NUMBER,
        (
            f"sum by (outcome) (increase(shuntyard_admission_offers_total{{@}}[{WINDOW}]))",
            "{{outcome}}",
        ),
    ),
    lines(
        "Payoff",
        "Payoff of the jobs admitted in the window, in the unit of their utilities.",
        Unit.NUMBER,
        (f"sum(increase(shuntyard_admission_payoff_total{{@}}[{WINDOW}]))", "payoff"),
    ),
    lines(
        "Share of utility kept",
        "Payoff as a part of the utility, of the jobs admitted in the window: 1 pays nothing.",
        Unit.SHARE,
        *quantiles("shuntyard_admission_gain_ratio", WINDOW),
    ),
    stacked(
        lines(
            "Jobs with a utility",
            "By the reason why they do not run now; none: they should run.",
            Unit.NUMBER,
            ("sum by (reason) (shuntyard_admission_jobs{@}) > 0", "{{reason}}"),
        )
    ),
    lines(
        "Promises",
        "Admitted jobs that have not ended, by the state of their promised slot.",
        Unit.NUMBER,
        ("sum by (promise) (shuntyard_promised_jobs{@})", "{{promise}}"),
    ),
    lines(
        "Promised share",
        "Promised part of the share of jobs with a utility in later slots.",
        Unit.SHARE,
        ("max by (resource) (shuntyard_promised_ratio{@})", "{{resource}}"),
    ),
)
PRICES: Final = Dashboard(
    name="prices",
    title="Prices",
    about="Of resources now and in the slots to come, and admission at these prices.",
    rows=(
        Row("Prices", _PRICES),
        Row("Nodes", _NODES),
        Row("Slots", _SLOTS),
        Row("Admission", _ADMISSION[:3]),
        Row("Admitted jobs", _ADMISSION[3:]),
    ),
    choices=(("resource", RESOURCES),),
)

"""Prices: what a resource costs, where it is dear, what was admitted at that price."""

from typing import Final

from monitoring.panels import Dashboard, Row, Unit, heatmap, lines

RESOURCES: Final = ("memory", "gpu", "cpu", "pods")
_PRICES: Final = (
    lines(
        "Mean price",
        "Mean price of a resource over the nodes that have it: 0 idle, 1 full.",
        Unit.SHARE,
        ('max by (resource) (shuntyard_price_ratio{@, of="mean"})', "{{resource}}"),
    ),
    lines(
        "Dearest node",
        "Price of a resource where it is dearest; above 1 more is taken than there is.",
        Unit.SHARE,
        ('max by (resource) (shuntyard_price_ratio{@, of="most"})', "{{resource}}"),
    ),
    lines(
        "Cheapest node",
        "Price of a resource where it is cheapest: there the next job goes, all else equal.",
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
PRICES: Final = Dashboard(
    name="prices",
    title="Prices",
    about="What a resource costs, where it is dear, what was admitted at that price.",
    rows=(Row("Prices", _PRICES), Row("Nodes", _NODES)),
    choices=(("resource", RESOURCES),),
)

"""The names that options take are those of the parts that use them."""

from pollwise.cli.options import ObjectiveName, OrderName, PolitenessName
from pollwise.fetch_settings import POLITENESS
from pollwise.insight.page_list import Order
from pollwise.objectives import OBJECTIVES


def test_the_names_of_options_are_those_of_their_parts():
    assert set(ObjectiveName) == set(OBJECTIVES)
    assert list(OrderName) == [order.value for order in Order]
    assert tuple(PolitenessName) == POLITENESS

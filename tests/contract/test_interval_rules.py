"""The interval rules keep to the contract, whether they share polls out or wait."""

from collections.abc import Sequence

from pollwise.policies.base import Policy
from pollwise.policies.rules.miniflux import Miniflux
from pollwise.policies.rules.news_crawl import NewsCrawl
from pollwise.policies.rules.newsblur import NewsBlur
from pollwise.policies.rules.nutch import Nutch
from pollwise.policies.rules.stormcrawler import StormCrawler
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class TestNutch(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Nutch()


class TestNutchThatWaits(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Nutch(scale=1e-5)


class TestStormCrawler(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return StormCrawler()


class TestNewsCrawl(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return NewsCrawl()


class TestMiniflux(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Miniflux()


class TestMinifluxThatWaits(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Miniflux(scale=0.01)


class TestNewsBlur(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return NewsBlur()

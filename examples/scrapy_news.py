"""An ordinary spider made incremental by three settings: scrapy runspider scrapy_news.py -a url=URL

It follows the links of one site, and comes back to each page when it is likely to have changed.
Ctrl-C ends it; the next run goes on from there.
"""

from urllib.parse import urlsplit

import scrapy


class NewsSpider(scrapy.Spider):
    name = "news"
    custom_settings = {  # noqa: RUF012 - so Scrapy wants it
        # Seconds between two requests to a host. The budget says how many pages are fetched in all,
        # not how fast one after the other: without a delay a new site gets its requests at once.
        "DOWNLOAD_DELAY": 1,
        "ADDONS": {"pollwise.scrapy.Addon": 500},
        "POLLWISE_BUDGET": "500/hour",
        "POLLWISE_DB": "news.db",
    }

    def __init__(self, url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.allowed_domains = [urlsplit(url).hostname]

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a")

import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.settings import Settings

from pollwise.errors import InputError
from pollwise.scrapy import Addon, Middleware, Scheduler
from pollwise.scrapy.settings import budget_of, db_of, skips_unchanged

RIGHT = {"POLLWISE_BUDGET": "0.2/day/page", "POLLWISE_DB": Path("a/crawl.db")}


def test_right_ones():
    settings = Settings(RIGHT)
    assert budget_of(settings) == "0.2/day/page"
    assert db_of(settings) == Path("a/crawl.db")
    assert skips_unchanged(settings)
    assert not skips_unchanged(Settings({"POLLWISE_SKIP_UNCHANGED": "0"}))


@pytest.mark.parametrize("budget", [None, 500, "500", "0/hour"])
def test_wrong_budgets(budget):
    with pytest.raises(InputError, match="POLLWISE_BUDGET"):
        budget_of(Settings({"POLLWISE_BUDGET": budget}))


@pytest.mark.parametrize("db", [None, 7, "", "/", "a\0b"])
def test_wrong_files(db):
    with pytest.raises(InputError, match=r"POLLWISE_DB is .*: name the file of the crawl"):
        db_of(Settings({"POLLWISE_DB": db}))


def test_the_add_on_puts_all_in_its_place():
    settings = Settings(RIGHT)
    Addon().update_settings(settings)
    assert settings["SCHEDULER"] is Scheduler
    assert settings.getdict("DOWNLOADER_MIDDLEWARES") == {Middleware: 75}


def test_the_add_on_leaves_what_is_there():
    path = "pollwise.scrapy.Middleware"
    settings = Settings({**RIGHT, "SCHEDULER": "own", "DOWNLOADER_MIDDLEWARES": {path: 50}})
    Addon().update_settings(settings)
    assert settings["SCHEDULER"] == "own"
    assert settings.getdict("DOWNLOADER_MIDDLEWARES") == {path: 50}


def test_without_scrapy_there_is_one_line_that_says_so():
    program = "from pollwise import extras; extras.find_spec = lambda name: None; "
    words = [sys.executable, "-c", program + "import pollwise.scrapy"]
    answer = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("pollwise.errors.InputError: pollwise.scrapy needs scrapy: install it")
    assert "'pollwise[scrapy]'" in last

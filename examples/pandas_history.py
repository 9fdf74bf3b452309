"""Replays a history of changes that is in a DataFrame: python pandas_history.py [TABLE.csv]

The table has the columns `page` and `changed_at`; without one, a month of three pages is made up.
"""

import sys

import pollwise

try:
    import pandas as pd
except ModuleNotFoundError:
    sys.exit("this example needs pandas: pip install pandas")

if len(sys.argv) > 1:
    history = pd.read_csv(sys.argv[1], parse_dates=["changed_at"])
else:
    every = {"news": "3h", "blog": "2D", "terms": "17D"}
    times = {page: pd.date_range("2026-05-01", "2026-05-31", freq=f) for page, f in every.items()}
    history = pd.concat(pd.DataFrame({"page": p, "changed_at": t}) for p, t in times.items())

world = pollwise.Replay.read(history)
for policy in (pollwise.BayesianIndex(objective="delay"), pollwise.Uniform()):
    polls = pollwise.simulate(policy, world, budget="1/day/page", seed=0)
    score = pollwise.score(polls, world.changes, begin=world.begin, end=world.end)
    done = pd.DataFrame(
        {
            "page": [world.pages[page_id].url for page_id in polls.page_ids],
            "polled_at": pd.to_datetime(polls.times, unit="s", utc=True),
            "changed": polls.outcomes == pollwise.Outcome.CHANGED,
        }
    )
    print(f"{type(policy).__name__}: mean delay {score.delay / 3600:.1f} hours")
    print(done.groupby("page")["changed"].agg(polls="size", changes="sum"), "\n")

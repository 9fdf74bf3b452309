"""Server-sent events, also through a proxy."""

from typing import Any


async def test_no_proxy_is_to_hold_events_back(asking: Any) -> None:
    answer = await asking("HEAD", "/events")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-accel-buffering"] == "no"

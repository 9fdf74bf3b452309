"""Watches URLs with aiohttp, until Ctrl-C: python asyncio_loop.py URL ..."""

import asyncio
import hashlib
import sys

import aiohttp

import pollwise

WORKERS = 8


async def work(schedule, session, copies):
    while True:
        url = schedule.next()
        if url is None:
            await asyncio.sleep(schedule.wait())
            continue
        try:
            async with session.get(url) as answer:
                body = await answer.read()
        except (aiohttp.ClientError, TimeoutError):
            schedule.record(url, failed=True)
            continue
        if answer.status in (404, 410):
            schedule.record(url, gone=True)
        elif answer.status != 200:
            schedule.record(url, failed=True, retry_after=answer.headers.get("Retry-After"))
        else:
            copy = hashlib.sha256(body).digest()
            changed = url in copies and copies[url] != copy
            copies[url] = copy
            schedule.record(url, changed, last_changed_at=answer.headers.get("Last-Modified"))
            print(url, "changed" if changed else "seen", flush=True)


async def main(urls):
    schedule = pollwise.Schedule(budget="2/second")
    schedule.add(urls)
    copies = {}
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(timeout=timeout) as session, asyncio.TaskGroup() as workers:
        for _ in range(WORKERS):
            workers.create_task(work(schedule, session, copies))


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1:]))
    except KeyboardInterrupt:
        print("stopped")

"""How many URLs a second `pollwise frontier` takes and gives out; its client is on this machine.

    python benchmarks/frontier.py [URLS]

A real process, a real file, `pollwise.frontier.Client`. Each line has the URLs a second, and the
CPU time that server and client took for each. A stream of single messages is bound by what gRPC for
Python takes for a message on either side: the last line has that of a server that only answers.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pollwise.frontier import Client, discovered, known
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol

HOSTS = 2000
BATCH = 200
ECHO = """
import asyncio, grpc
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol

async def put(items, context):
    async for item in items:
        yield protocol.AckMessage(ID=item.discovered.info.url)

async def main():
    server = grpc.aio.server()
    put_urls = grpc.stream_stream_rpc_method_handler(
        put, protocol.URLItem.FromString, protocol.AckMessage.SerializeToString
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("urlfrontier.URLFrontier", {"PutURLs": put_urls}),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"served at 127.0.0.1:{port}", flush=True)
    await server.wait_for_termination()

asyncio.run(main())
"""


class Server:
    """A process that serves."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if told := re.search(r"served at (.*)$", line):
                self.address = told[1]
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return
        raise SystemExit("the server ended")

    @property
    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> int:
        """Bytes that it has at most had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+)", status)
        assert found is not None
        return int(found[1]) * 1024

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measured(server: Server, name: str, work: Callable[[], int]) -> None:
    """Do something once, and print how long it took."""
    server_cpu, client_cpu, begun = server.cpu, own_cpu(), time.perf_counter()
    urls = work()
    seconds = time.perf_counter() - begun
    print(
        f"{name:44} {urls:8} URLs {urls / seconds:8.0f} a second"
        f"   server {(server.cpu - server_cpu) / urls * 1e6:5.0f} µs"
        f"   client {(own_cpu() - client_cpu) / urls * 1e6:5.0f} µs"
    )


def url(number: int, folder: str) -> str:
    return f"https://host-{number % HOSTS}.example/{folder}/{number}"


def batches(count: int) -> Iterator[protocol.DiscoveredBatch]:
    for begin in range(0, count, BATCH):
        items = [protocol.URLInfo(url=url(n, "b")) for n in range(begin, begin + BATCH)]
        yield protocol.DiscoveredBatch(items=items)


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = "from pollwise.cli import main; main()"
        server = Server("-c", program, "frontier", "--port", "0", "--db", f"{folder}/frontier.db")
        with Client(server.address) as client:
            singles = [discovered(url(n, "a")) for n in range(count)]
            measured(
                server,
                "PutURLs, found ones",
                lambda: sum(1 for _ in client.put_urls(singles)),
            )
            measured(
                server,
                f"PutDiscovered, {BATCH} in a message",
                lambda: sum(len(ack.statuses) for ack in client.put_discovered(batches(count))),
            )
            given: list[str] = []

            def get() -> int:
                given.extend(info.url for info in client.get_urls(lease=3600))
                return len(given)

            measured(server, "GetURLs, new ones", get)
            soon = int(time.time()) + 5
            fetched = [
                known(at, soon, metadata={"signature": [f"{n}"], "fetch.statusCode": ["200"]})
                for n, at in enumerate(given[:count])
            ]
            measured(
                server, "PutURLs, fetched ones", lambda: sum(1 for _ in client.put_urls(fetched))
            )
            time.sleep(5)

            def get_again() -> int:
                urls, tries = 0, 0
                while urls < count // 2 and tries < 200:
                    tries += 1
                    urls += sum(1 for _ in client.get_urls(lease=3600))
                return urls

            client.set_delay(0)
            measured(server, "GetURLs, chosen by the index", get_again)
            print(f"{server.memory / 1e6:.0f} MB of memory at most")
        server.stop()
    echo = Server("-c", ECHO)
    with Client(echo.address) as client:
        measured(
            echo,
            "PutURLs of a server that only answers",
            lambda: sum(1 for _ in client.put_urls(singles)),
        )
    echo.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40_000)

"""Where the servers for tests listen: addresses of this machine that nobody else can reach."""

import ssl

from aiohttp import web

__all__ = ["listen", "loopback_address"]


def loopback_address(number: int) -> str:
    """The loopback address with this number: 0 is 127.0.1.1, 1 is 127.0.1.2, and so on."""
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


async def listen(runner: web.BaseRunner, host: str, *, tls: ssl.SSLContext | None = None) -> int:
    """Serve on a port of `host` that the operating system chooses, and give its number.

    `OSError` where the machine has no such address.
    """
    await runner.setup()
    await web.TCPSite(runner, host, 0, ssl_context=tls).start()
    port: int = runner.addresses[0][1]
    return port

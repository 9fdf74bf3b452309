"""What hubs may ask of a subscriber (WebSub, W3C Recommendation of 2018, sections 5.2 to 7)."""

import hmac
import re

from aiohttp import web

from pollwise.live.listening.subscriber import Subscriber
from pollwise.live.listening.subscription import ASKED_LEASE, CALLBACKS

__all__ = ["hub_routes"]

_METHODS = frozenset({"sha1", "sha256", "sha384", "sha512"})
_LARGEST = 10 * 2**20
"""Bytes of content that a hub may send; nobody keeps them."""
_LONGEST_CHALLENGE = 4096


def hub_routes(subscriber: Subscriber) -> list[web.RouteDef]:
    """The callbacks of subscriptions, below any path: a proxy may leave that of its public URL.

    `GET` asks whether a subscription is wanted; it is answered by the challenge, or by 404. `POST`
    tells of a change; 410: there is no such subscription. What is not signed as it should be is
    answered like all else, and ignored.
    """

    async def verify(request: web.Request) -> web.Response:
        told = dict(request.query.items())
        token, topic = request.match_info["token"], told.get("hub.topic", "")
        mode, challenge = told.get("hub.mode"), told.get("hub.challenge", "")
        if mode == "denied" and subscriber.deny(token, topic, told.get("hub.reason", "")):
            return web.Response()
        is_sound = 0 < len(challenge) <= _LONGEST_CHALLENGE
        lease = _lease(told.get("hub.lease_seconds", ""))
        if mode == "subscribe" and is_sound and subscriber.confirm(token, topic, lease):
            return web.Response(body=challenge.encode(errors="replace"), content_type="text/plain")
        raise web.HTTPNotFound

    async def tell(request: web.Request) -> web.Response:
        token = request.match_info["token"]
        secret = subscriber.secret(token)
        if secret is None:
            raise web.HTTPGone
        method, _, sent = request.headers.get("X-Hub-Signature", "").partition("=")
        method = method.strip().lower()
        signature = hmac.new(secret.encode(), digestmod=method if method in _METHODS else "sha256")
        size = 0
        async for piece in request.content.iter_any():
            size += len(piece)
            if size > _LARGEST:
                raise web.HTTPRequestEntityTooLarge(_LARGEST, size)
            signature.update(piece)
        told = sent.strip().lower().encode(errors="replace")
        if method in _METHODS and hmac.compare_digest(told, signature.hexdigest().encode()):
            subscriber.signal(token)
        return web.Response(status=204)

    path = rf"/{{prefix:(?:.+/)?}}{CALLBACKS}{{token:[\w-]+}}"
    return [web.get(path, verify, allow_head=False), web.post(path, tell)]


def _lease(text: str) -> float:
    """Seconds; old hubs do not say how many."""
    return float(text) if re.fullmatch("[0-9]{1,12}", text) else float(ASKED_LEASE)

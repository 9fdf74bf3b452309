"""Signatures of what is posted, as Standard Webhooks (standardwebhooks.com) has them."""

import base64
import binascii
import hashlib
import hmac

from pollwise.errors import InputError

__all__ = ["signature", "signing_key"]

_ENCODED = "whsec_"


def signing_key(secret: str, where: str) -> bytes:
    """The key that a secret stands for: what follows `whsec_` is base64, other text is itself.

    `InputError`, which names the place `where`, for a secret that is empty or no base64.
    """
    encoded = secret.removeprefix(_ENCODED)
    try:
        key = secret.encode() if encoded == secret else base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise InputError(f"{where}: expected {_ENCODED} and base64 behind it, or any other text")
    return key


def signature(key: bytes, notice_id: str, seconds: int, body: bytes) -> str:
    """What the header `webhook-signature` says of a body that is posted at that time (UTC)."""
    signed = f"{notice_id}.{seconds}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"

"""Requests that post a notice: one answer counts, the first that is final."""

import urllib.request
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any

__all__ = ["post"]

_MOST_INTERIM = 10
"""Answers of the class 1xx before the one that counts."""


def post(url: str, body: bytes, headers: dict[str, str], patience: float) -> None:
    """Post a body; when this returns, the answer was 2xx.

    Proxies are those that the environment names. `urllib.error.HTTPError` for another answer, a
    redirect included, `OSError` and `HTTPException` for none within `patience` seconds a step.
    """
    request = urllib.request.Request(url, body, headers, method="POST")
    opener = urllib.request.build_opener(_NoRedirects, _Plain, _Secure)
    with opener.open(request, timeout=patience):
        pass


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would be followed without the body: it is an error."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none."""


class _FinalResponse(HTTPResponse):
    """An answer behind interim ones (RFC 9110, section 15.2), of which `http.client` passes over
    no other than 100.
    """

    def begin(self) -> None:
        """Read the head of the answer that is final."""
        for _ in range(_MOST_INTERIM + 1):
            super().begin()
            if not 100 <= self.status < 200 or self.status == 101:
                return
            self.headers = None  # type: ignore[assignment]  # of an answer that has not begun
        raise HTTPException(f"more than {_MOST_INTERIM} interim answers")


class _PlainConnection(HTTPConnection):
    response_class = _FinalResponse


class _SecureConnection(HTTPSConnection):
    response_class = _FinalResponse


class _Plain(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_PlainConnection, req)


class _Secure(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_SecureConnection, req)

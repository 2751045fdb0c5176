"""Who may write or start a job: only a page that this server itself has sent.

TensorBoard has no login and often listens on all interfaces, so every writing request must be a POST of JSON from the same
origin with the token of this server's start, and `MSPROBE_VIEW_ONLY=1` turns all of them off.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
from urllib.parse import urlsplit

from werkzeug.wrappers import Request

TOKEN_HEADER = "X-Msprobe-Token"  # noqa: S105 - the name of a header, not a secret
MOST_BYTES = 4_000_000
"""Largest body of a writing request: a match configuration of a hundred thousand nodes."""


class RefusedError(Exception):
    """A writing request that is not accepted; carries the status, a code and a sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Gate:
    """Lets writing requests of our own page through and refuses all others."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)

    @property
    def view_only(self) -> bool:
        """Whether writing is switched off."""
        return os.environ.get("MSPROBE_VIEW_ONLY", "") not in ("", "0")

    def admit(self, request: Request) -> dict[str, object]:
        """The JSON object of a writing request.

        Raises:
            RefusedError: When the request is not a JSON POST of our own page, or writing is off.
        """
        if request.method != "POST":
            raise RefusedError(405, "method", "use POST")
        if self.view_only:
            raise RefusedError(403, "view_only", "this server only shows files (MSPROBE_VIEW_ONLY is set)")
        if request.mimetype != "application/json":
            raise RefusedError(415, "type", "the body must be JSON")
        check_same_origin(request)
        if not hmac.compare_digest(request.headers.get(TOKEN_HEADER, "").encode(), self.token.encode()):
            raise RefusedError(403, "token", "the page is from an earlier start of this server; load it again")
        length = request.content_length
        if length is None or length > MOST_BYTES:
            raise RefusedError(413, "size", f"the body may have at most {MOST_BYTES} bytes and must tell its length")
        body = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise RefusedError(400, "body", "the body must be a JSON object")
        return body


def check_same_origin(request: Request) -> None:
    """Refuses a request that a page of another origin sent.

    Raises:
        RefusedError: When `Sec-Fetch-Site` or `Origin` names another origin, or both are absent, or the host is not ours.
    """
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    host = request.headers.get("Host", "").lower()
    if not _is_ours(host):
        raise RefusedError(403, "host", f"to write through the name {host}, list it in MSPROBE_ALLOWED_HOSTS of the server")
    if site is not None and site != "same-origin":
        raise RefusedError(403, "origin", "only the plugin's own page may do this")
    if origin is not None:
        # A proxy may end TLS before us, so the scheme is not compared.
        if urlsplit(origin).netloc.lower() not in (host, request.headers.get("X-Forwarded-Host", host).lower()):
            raise RefusedError(403, "origin", "only the plugin's own page may do this")
    elif site is None:
        raise RefusedError(403, "origin", "the request does not say which page sent it")


def _is_ours(host: str) -> bool:
    """Whether a `Host` is an address or a name of this machine, so that a foreign name that was made to point here is not."""
    name = urlsplit(f"//{host}").hostname or ""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        allowed = os.environ.get("MSPROBE_ALLOWED_HOSTS", "").lower().replace(",", " ").split()
        local = {"localhost", socket.gethostname().lower(), socket.getfqdn().lower(), *allowed}
        return name in local or name.endswith(".localhost")
    return True

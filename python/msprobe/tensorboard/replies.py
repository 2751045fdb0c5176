"""Replies with compression, entity tags and the headers TensorBoard asks for."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import Any

from werkzeug.wrappers import Request, Response

COMPRESS_FROM = 600
"""Bytes below which compression costs more than it saves."""

LEVEL = 1
"""Of compression. Higher ones take many times as long for columns of numbers and names, and save next to nothing."""

COMPRESSIBLE = ("application/json", "text/", "image/svg+xml")
PAGE_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


def reply(
    request: Request, body: bytes, content_type: str, *, status: int = 200, immutable: bool = False, compressed: bytes | None = None
) -> Response:
    """A reply to `request`: 304 when the browser has it already, gzip when it takes that.

    Args:
        request: The request under way.
        body: Bytes before compression.
        content_type: Value of `Content-Type`.
        status: Status of HTTP.
        immutable: Whether the address changes whenever the content does.
        compressed: The same bytes as gzip, if they are at hand.
    """
    headers = {"X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding", "Referrer-Policy": "no-referrer"}
    headers["Cache-Control"] = "public, max-age=31536000, immutable" if immutable else "private, no-cache"
    if content_type.startswith("text/html"):
        headers["Content-Security-Policy"] = PAGE_POLICY
    if status == 200:
        tag = hashlib.blake2b(body, digest_size=12).hexdigest()
        headers["ETag"] = f'W/"{tag}"'
        if request.if_none_match.contains_weak(tag):
            return Response(status=304, headers=headers, content_type=content_type)
    takes_gzip = "gzip" in request.headers.get("Accept-Encoding", "").lower()
    if takes_gzip and len(body) >= COMPRESS_FROM and content_type.startswith(COMPRESSIBLE):
        body = compressed if compressed is not None else gzip.compress(body, compresslevel=LEVEL, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return Response(body, status=status, headers=headers, content_type=content_type)


def answer(request: Request, value: Any, status: int = 200) -> Response:
    """A strict JSON reply of a Python value."""
    return reply(request, json.dumps(value, allow_nan=False).encode(), "application/json", status=status)


def failure(request: Request, status: int, code: str, message: str) -> Response:
    """A JSON error with a code for programs and a sentence for people."""
    return answer(request, {"error": {"code": code, "message": message}}, status)

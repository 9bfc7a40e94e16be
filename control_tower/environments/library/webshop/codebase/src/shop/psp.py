"""The payment provider. Card data go there and nowhere else; see docs/payments.md."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit

from .config import Config


class Declined(Exception):
    """The card was not charged; the text is the provider's reason."""


class Unavailable(Exception):
    """The provider does not answer, or not as it should."""


def charge(config: Config, reference: str, amount: int, card: dict) -> str:
    """Charge a card; returns the provider's id of the charge."""
    body = {"amount": amount, "reference": reference, "card": card}
    status, answer = _ask(config, "POST", "/charges", body)
    if status == 402:
        raise Declined(str(answer.get("error")))
    if status != 201:
        raise Unavailable(f"charge: {status}")
    return answer["id"]


def refund(config: Config, charge_id: str, amount: int) -> str:
    """Pay back a part of a charge, or all; returns the provider's id of it."""
    status, answer = _ask(config, "POST", f"/charges/{charge_id}/refunds", {"amount": amount})
    if status != 201:
        raise Unavailable(f"refund: {status} {answer.get('error')}")
    return answer["id"]


def charges(config: Config, reference: str | None = None) -> list[dict]:
    """What the provider has on record, for one reference if it is given."""
    path = "/charges" + (f"?reference={quote(reference)}" if reference else "")
    status, answer = _ask(config, "GET", path, None)
    if status != 200:
        raise Unavailable(f"charges: {status}")
    return answer["charges"]


def _ask(config: Config, method: str, path: str, body: dict | None) -> tuple[int, dict[str, Any]]:
    url = urlsplit(config.psp_url)
    conn = http.client.HTTPConnection(url.hostname or "", url.port, timeout=config.psp_timeout)
    headers = {"Authorization": f"Bearer {config.psp_key}", "Content-Type": "application/json"}
    try:
        conn.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = conn.getresponse()
        return response.status, json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unavailable(repr(error)) from error
    finally:
        conn.close()

"""What a reply costs in dollars.

tokens, model, endpoint -> dollars, or None when no price is known.  Touches: the price table of genai-prices.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from chat.types import TokenUse

_unpriced: set[tuple[str, str]] = set()


def cost(use: TokenUse, *, model: str, base_url: str, is_free: bool = False) -> float | None:
    """Prices set by the operator win; is_free: the model is known to run on this machine."""
    price_in: float = settings.AGENT_PRICE_IN
    price_out: float = settings.AGENT_PRICE_OUT
    if price_in >= 0 or price_out >= 0:
        return (use.prompt * max(0.0, price_in) + use.reply * max(0.0, price_out)) / 1_000_000
    if is_free:
        return 0.0
    if (model, base_url) in _unpriced:
        return None
    dollars = _listed(use, model, base_url)
    if dollars is None:
        _unpriced.add((model, base_url))
    return dollars


def _listed(use: TokenUse, model: str, base_url: str) -> float | None:
    """The list price at the endpoint's own provider; behind a proxy on the internet, the model's usual one."""
    from genai_prices import Usage, calc_price  # 0.4 s of import that only hosted models need

    tokens = Usage(input_tokens=use.prompt, cache_read_tokens=use.cached, output_tokens=use.reply)
    try:
        return float(calc_price(tokens, model, provider_api_url=base_url).total_price)
    except LookupError:
        if is_private(base_url):
            return None
    try:
        return float(calc_price(tokens, model).total_price)
    except LookupError:
        return None


def is_private(base_url: str) -> bool:
    """Whether the address is on this machine or in a private network."""
    host = urlsplit(base_url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".lan", ".home"))
    return address.is_private or address.is_loopback

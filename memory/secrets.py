"""Keys, card numbers and passwords, which are never kept.

text -> why it is refused.  Touches: nothing (pure).
"""

import re

from django.utils.translation import gettext as _

_KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bsk-[A-Za-z0-9_-]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*"
    r"|\bhf_[A-Za-z0-9]{20,}|\bya29\.[\w-]{20,}|\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"
)
_NAMED = re.compile(
    r"\b(?:pass(?:word|phrase|code|wd)?|pwd|pin(?:\s+(?:code|number))?|cvv2?|cvc|api[\s_-]?key|secret(?:[\s_-]?key)?"
    r"|access[\s_-]?token|auth[\s_-]?token|bearer(?:\s+token)?|private[\s_-]?key|seed\s+phrase|2fa\s+code|otp)\b"
    r"(?!\s+(?:manager|reset|polic|rule|hint|field|page))"
    r"(?:[^.!?\n]{0,40}?)(?:\bis\b|\bare\b|=|:|：)\s*[\"'“”`]?(?!not\b|the\b|a\b|in\b|stored\b|required\b|wrong\b|too\b)\S{3,}",
    re.IGNORECASE,
)
_NAMED_CJK = re.compile(
    r"(?:密码|口令|密钥|私钥|验证码|支付密码|令牌|助记词|安全码)[^。！？\n]{0,8}?(?:是|为|=|:|：)\s*\S{3,}"
)
_DIGITS = re.compile(r"(?<![\d.-])(?:\d[ -]?){13,19}(?![\d-])")


def secret_in(text: str) -> str:
    """Why this text must not be kept, in plain words; empty: nothing was found."""
    if _KEYS.search(text):
        return _("It looks like a key or token; secrets are not kept.")
    if _NAMED.search(text) or _NAMED_CJK.search(text):
        return _("It looks like a password or another secret; secrets are not kept.")
    if any(_is_card(match.group()) for match in _DIGITS.finditer(text)):
        return _("It looks like a card number; secrets are not kept.")
    return ""


def _is_card(text: str) -> bool:
    digits = [int(char) for char in text if char.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) < 2 or digits[0] not in {2, 3, 4, 5, 6}:
        return False
    doubled = [d if i % 2 == 0 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0

"""Text as it is stored, and text as it is compared.

text -> text.  Touches: nothing (pure).
"""

import re
import unicodedata

from django.conf import settings
from django.utils.crypto import salted_hmac

_SURROGATES = re.compile("[\ud800-\udfff]")
# Control characters but tab and line feed, and the invisible marks that make equal texts look different.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\ufff9-\ufffb]")
_ASKING = re.compile(
    r"^(?:please\s+|pls\s+|kindly\s+)?(?:(?:remember|keep in mind|don'?t forget)(?:\s+(?:that\b|this\s*[:,]))?[\s:,]+"
    r"|(?:note|save)(?:\s+(?:that\b|this\s*[:,])|\s*[:,])\s*)"
    r"|^(?:请|請|麻烦)?(?:你)?(?:帮我)?(?:记住|記住|记一下|记着|别忘了)(?:一下)?[\s,，:：]*",
    re.IGNORECASE,
)
# What leads in and says nothing: "By the way, I like tea" is "I like tea".
_LEAD = re.compile(
    r"^(?:(?:by the way|btw|fyi|oh|well|so|ok|okay|actually|also|just so you know|for the record|hi|hello|hey)\b[\s,:—–-]+)+"
    r"|^(?:顺便说一下|顺便|对了|其实|你好|另外)[\s,，:：]*",
    re.IGNORECASE,
)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK_GAP = re.compile(f"(?<=[{_CJK}])\\s+(?=[{_CJK}])")


def clean(text: str) -> str:
    """Safe to store and to embed: no NUL, no lone surrogate, no invisible characters, one form of each letter."""
    text = unicodedata.normalize("NFC", _SURROGATES.sub("\ufffd", text))
    return _INVISIBLE.sub("", text.replace("\r\n", "\n")).strip()


def bare(text: str) -> str:
    """Without the words that ask to remember it: "Remember that I like tea" is "I like tea"."""
    text = text.strip()
    held = _LEAD.sub("", text).strip() or text
    return _ASKING.sub("", held, count=1).strip() or held


def normal(text: str) -> str:
    """The form in which two texts are the same: width, case, accents' encoding, punctuation and spaces aside."""
    text = unicodedata.normalize("NFKC", bare(clean(unicodedata.normalize("NFKC", clean(text))))).casefold()
    text = text.replace("’", "'").replace("i'm ", "i am ")
    kept = [char if unicodedata.category(char)[0] in "LNMS" else " " for char in text]
    return _CJK_GAP.sub("", " ".join("".join(kept).split()))


def digest(user_id: int, text: str) -> str:
    """A keyed hash of the normalised text: equal texts of one person meet, and nobody reads the text from it."""
    return salted_hmac(f"memory.{user_id}", normal(text), secret=settings.SECRET_KEY, algorithm="sha256").hexdigest()


def cjk_share(text: str) -> float:
    """How much of the text is Chinese (or Japanese), by letters."""
    cjk = len(re.findall(f"[{_CJK}]", text))
    other = len(re.findall(r"[^\W\d_]", text)) - cjk
    # A Chinese character says about as much as two and a half Latin letters.
    return cjk * 2.5 / (cjk * 2.5 + other) if cjk else 0.0

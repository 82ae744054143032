"""Read a date in the forms people and models write it in.

text -> date.  Touches: nothing (pure).
"""

import re
from datetime import date
from typing import Any

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_date(value: Any, *, year: int | None) -> Any:
    """A date for a text with one meaning; anything else comes back as it is, for validation to refuse.

    year: for a date that names none; None: such a date is refused.
    """
    if not isinstance(value, str):
        return value
    text = value.strip().casefold()
    if match := re.fullmatch(r"(?:(\d{4})年)?(\d{1,2})月(\d{1,2})[日号]?", text):
        return _date(match[1] or year, match[2], match[3], value)
    if match := re.fullmatch(r"(?:(\d{4})[-/.])?(\d{1,2})[-/.](\d{1,2})(?:[t ].*)?", text):
        return _date(match[1] or year, match[2], match[3], value)
    if match := re.fullmatch(r"([a-z]{3})[a-z]*\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?", text):
        return _named(match[3] or year, match[1], match[2], value)
    if match := re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]{3})[a-z]*\.?(?:,? (\d{4}))?", text):
        return _named(match[3] or year, match[2], match[1], value)
    return value


def _named(year: str | int | None, month: str, day: str, otherwise: str) -> Any:
    return _date(year, str(MONTHS.index(month) + 1), day, otherwise) if month in MONTHS else otherwise


def _date(year: str | int | None, month: str, day: str, otherwise: str) -> Any:
    if year is None:
        return otherwise
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return otherwise

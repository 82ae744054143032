"""The days that a text names: "October 1", 「10月1日」, "tomorrow".

text, today -> words and days.  Touches: nothing (pure).
"""

import re
from datetime import date, timedelta

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATES = (
    re.compile(r"(?P<y>\d{4})[-/年.](?P<m>\d{1,2})[-/月.](?P<d>\d{1,2})日?"),
    re.compile(r"(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]?"),
    re.compile(
        rf"\b{_MONTH.replace('(', '(?P<name>', 1)}\s+(?P<d>\d{{1,2}})(st|nd|rd|th)?\b(,?\s*(?P<y>\d{{4}}))?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(st|nd|rd|th)?\s+(of\s+)?{_MONTH.replace('(', '(?P<name>', 1)}\b(,?\s*(?P<y>\d{{4}}))?",
        re.IGNORECASE,
    ),
    re.compile(r"(?<![\d-])(?P<m>\d{1,2})[-/](?P<d>\d{1,2})(?![\d-])"),
)
_RELATIVE = {
    "day after tomorrow": 2,
    "大后天": 3,
    "后天": 2,
    "tomorrow": 1,
    "明天": 1,
    "明日": 1,
    "today": 0,
    "今天": 0,
    "tonight": 0,
}


def days_in(text: str, today: date) -> list[tuple[str, date]]:
    """The words and the day they mean, in order; without a year, the next such day."""
    found: list[tuple[int, str, date]] = []
    rest = text
    for pattern in _DATES:
        for match in pattern.finditer(rest):
            groups = match.groupdict()
            name = (groups.get("name") or "").lower()[:3]
            month = MONTHS.index(name) + 1 if name else int(groups["m"])
            if day := _day(groups.get("y"), month, int(groups["d"]), today):
                found.append((match.start(), match[0], day))
        rest = pattern.sub(lambda match: " " * len(match[0]), rest)
    for word, ahead in _RELATIVE.items():
        if (at := rest.lower().find(word)) >= 0:
            found.append((at, rest[at : at + len(word)], today + timedelta(days=ahead)))
            rest = rest[:at] + " " * len(word) + rest[at + len(word) :]
    return [(words, day) for _at, words, day in sorted(found)]


def _day(year: str | None, month: int, day: int, today: date) -> date | None:
    try:
        if year:
            return date(int(year), month, day)
        soon = date(today.year, month, day)
        return soon if soon >= today else date(today.year + 1, month, day)
    except ValueError:
        return None

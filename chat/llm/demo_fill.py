"""How the demo model fills the arguments of a call: by the names in the tool's schema, from words and results.

Scene, tool -> arguments, and what is missing.  Touches: nothing (pure).
"""

import json
import re
from datetime import date, timedelta
from typing import Any

from chat.llm import demo_read
from chat.llm.demo_read import Scene
from chat.types import Json

_REMEMBER = re.compile(
    r"(?:^|(?<=[.!?;]))\s*(please\s+|could you\s+|can you\s+)?(remember|keep in mind|note)( down)?( that|:)?\s*"
    r"|(?:^|(?<=[。！？；]))\s*(请|帮我|你)*(记住|记一下|记得|记着)[，,：:]?\s*",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"^.*?\b(?:note|file|memo)s?\b(?:\s+(?:called|named)\s+\S+)?(?:\s*(?:that|saying|with|about|:|-))+\s*"
    r"|^.*?(?:笔记|文件|备忘录?)[，,：:]?\s*(?:内容是|写着|说)?\s*",
    re.IGNORECASE | re.DOTALL,
)
_FILE = re.compile(r"[\w\-./]+\.(?:txt|md|csv|json)\b", re.IGNORECASE)
_FAULTS = re.compile(
    r"\bnext:|likely cause:|\b(failed|error|rejected|refused|expired|not offered|do not fit|there is no|cannot|has no)\b"
    r"|拒绝|失败",
    re.IGNORECASE,
)
_PREFERS = re.compile(r"\b(prefer|like|love|hate|dislike|favou?rite)\b|喜欢|偏好|讨厌|最爱", re.IGNORECASE)
_LIKES = re.compile(r"room|floor|quiet|bed|view|smok|breakfast|房|楼层|安静|床|早餐|烟", re.IGNORECASE)
_ROOMS = {"suite": r"\bsuite\b|套房", "standard": r"\bstandard\b|标准间|标间|普通间"}


def arguments(tool: str, scene: Scene) -> tuple[Json, list[str]]:
    """Arguments for a call, and the names of required ones that nothing says."""
    schema = scene.tools.get(tool, {})
    needed = schema.get("required", [])
    filled: Json = {}
    missing: list[str] = []
    for name, prop in (schema.get("properties") or {}).items():
        value = _value(tool, name, prop, scene)
        if value is not None:
            filled[name] = value
        elif name in needed:
            missing.append(name)
    return filled, missing


def arguments_by_words(tool: str, scene: Scene) -> Json:
    """What the person's words alone say about a call that is over."""
    return {"text": _text(tool, scene) or ""}


def _value(tool: str, name: str, prop: Json, scene: Scene) -> Any:
    options = prop.get("enum") or ([prop["const"]] if "const" in prop else [])
    if options:
        return _option(options, scene)
    word = name.lower()
    kind = prop.get("type", "string")
    if kind in {"integer", "number"}:
        return _number(word, scene)
    if re.search(r"city|place|location|destination|town", word):
        return demo_read.city(scene.task) or None
    if "night" in word:
        return None
    if re.search(r"date|day|check_?in|check_?out|^from$|^to$|start|until", word):
        return _date(word, prop, scene)
    if re.search(r"hotel|offer|room_id", word):
        return _hotel(word, tool, scene)
    if re.search(r"^request|wish|preference|remark", word):
        return "; ".join(_wish(text) for text in scene.known if _LIKES.search(text))[:300]
    if re.search(r"expr|formula", word):
        return demo_read.arithmetic(scene.task) or None
    if re.search(r"query|question|search|topic", word):
        return scene.task[:300]
    if re.search(r"path|file", word):
        return _path(tool, scene)
    if kind == "string" and re.search(r"text|content|body|fact|statement|memory|note", word):
        return _text(tool, scene)
    return None


def _option(options: list[Any], scene: Scene) -> Any:
    """The one option that the decided facts, or else the person's words, name."""
    if len(options) == 1:
        return options[0]
    if "preference" in options and _PREFERS.search(scene.task):
        return "preference"
    for text in (*reversed(scene.decided), scene.task):
        named = [
            o
            for o in options
            if isinstance(o, str) and re.search(_ROOMS.get(o.lower(), rf"\b{re.escape(o)}\b"), text, re.IGNORECASE)
        ]
        if len(named) == 1:
            return named[0]
    return None


def _number(word: str, scene: Scene) -> int | None:
    if "night" in word:
        if found := demo_read.count(scene.task, r"nights?|晚|夜"):
            return found
        days = demo_read.dates(scene.task, scene.today)
        return (days[1] - days[0]).days if len(days) > 1 and days[1] > days[0] else 1
    if re.search(r"guest|people|person|adult", word):
        return demo_read.count(scene.task, r"people|persons?|guests?|adults?|个?人|位")
    if re.search(r"price|budget|max", word):
        price = re.search(
            r"(?:under|below|at most|max(?:imum)?|up to|不超过|低于|最多)\s*[¥$€]?\s*(\d+)", scene.task, re.IGNORECASE
        )
        return int(price[1]) if price else None
    return None


def _date(word: str, prop: Json, scene: Scene) -> str | None:
    days = demo_read.dates(scene.task, scene.today)
    if not days:
        return None
    first = known_day(days[0], prop, scene)
    if re.search(r"to$|until|end|check_?out", word):
        if len(days) > 1:
            return known_day(days[1], prop, scene).isoformat()
        return (first + timedelta(days=demo_read.count(scene.task, r"nights?|晚|夜") or 1)).isoformat()
    return first.isoformat()


def known_day(day: date, prop: Json, scene: Scene) -> date:
    """The same day in the year that the tool's own words name: its data may be about another year."""
    said = [
        json.dumps(scene.tools, ensure_ascii=False),
        *(text for _, _, text in scene.everything),
        json.dumps(prop),
        scene.now,
    ]
    if year_said := re.search(r"year (\d{4})", str(prop.get("description"))):
        return day.replace(year=int(year_said[1])) if (day.month, day.day) != (2, 29) else day
    for text in said:
        for year, month, number in re.findall(r"(\d{4})-(\d\d)-(\d\d)", text):
            if (int(month), int(number)) == (day.month, day.day):
                return date(int(year), day.month, day.day)
    return day


def _hotel(word: str, tool: str, scene: Scene) -> str | None:
    """The hotel the person names, else the cheapest that was found and has the room."""
    hotels = hotels_in(scene)
    tried = " ".join(json.dumps(args) for name, args, text in scene.evidence if name == tool and failed(text))
    room = _room(tool, scene)
    fitting = [h for h in hotels if _price(h, room) < float("inf") and not any(k in tried for k in _names(h))] or hotels
    if not fitting:
        return None
    said = scene.task.lower()
    named = next((hotel for hotel in hotels if any(name.lower() in said for name in _names(hotel))), None)
    chosen = named or min(fitting, key=lambda hotel: _price(hotel, room))
    keys = ("name", "hotel", "hotel_id", "id") if "name" in word else ("hotel_id", "id", "name")
    return next((str(chosen[key]) for key in keys if chosen.get(key)), None)


def _room(tool: str, scene: Scene) -> str:
    """The kind of room that the call will ask for."""
    properties = scene.tools.get(tool, {}).get("properties") or {}
    options: list[Any] = next(
        (prop["enum"] for name, prop in properties.items() if "room" in name and prop.get("enum")), []
    )
    return str(_option(options, scene) or "") if options else ""


def _names(hotel: Json) -> list[str]:
    return [str(hotel[key]) for key in ("hotel_id", "id", "name") if hotel.get(key)]


def hotels_in(scene: Scene) -> list[Json]:
    """The hotels that earlier results list."""
    for tool, _args, text in reversed(scene.everything):
        if "hotel" in tool and "book" not in tool:
            value = demo_read.as_json(text)
            if isinstance(value, dict):
                value = next((item for item in value.values() if isinstance(item, list)), [])
            if isinstance(value, list) and value:
                return [item for item in value if isinstance(item, dict)]
            return [{"id": found} for found in dict.fromkeys(re.findall(r"\bh-\d+\b", text))]
    return []


def _price(hotel: Json, room: str) -> float:
    """The price of the room; endless when the hotel has none."""
    prices = next((value for key, value in hotel.items() if "price" in key), None)
    if isinstance(prices, dict):
        prices = prices.get(room) if room else min(prices.values(), default=None)
    return float(prices) if isinstance(prices, (int, float)) else float("inf") if room else 0.0


def failed(text: str) -> bool:
    """Whether a result says that the call did not work: good ones of the tools here are data."""
    return demo_read.as_json(text) is None and bool(_FAULTS.search(text[:600]))


def _path(tool: str, scene: Scene) -> str | None:
    if named := _FILE.search(scene.task):
        return named[0]
    if tool == "write_file":
        words = re.findall(r"\w+", _text(tool, scene) or "")[:5]
        return f"{'-'.join(words).lower()[:40] or 'note'}.md"
    return next(iter(files_in(scene)), None)


def files_in(scene: Scene) -> list[str]:
    """The files that a list in the results names; the newest first as the tool orders them."""
    for tool, _args, text in reversed(scene.everything):
        if tool == "list_files":
            return list(dict.fromkeys(_FILE.findall(text)))
    return []


def _wish(memory: str) -> str:
    """What the person likes, without who likes it."""
    text = re.sub(
        r"^(the (user|person)|user|i|用户|我)\s*(always\s+|really\s+)?(prefers?|likes?|wants?|喜欢|偏好|想要)?\s*",
        "",
        memory.strip(),
        flags=re.I,
    )
    return re.sub(r"\s*\(.*?\)\s*$", "", text).strip(" .。")


def _text(tool: str, scene: Scene) -> str | None:
    if tool == "write_file":
        said = _NOTE.sub("", scene.task, count=1).strip().strip("\"“”'。")
        total = next((text for name, _, text in reversed(scene.everything) if name == "calculate"), "")
        return said or total or scene.task
    found = list(_REMEMBER.finditer(scene.task))
    said = (scene.task[found[-1].end() :] if found else scene.task).strip().rstrip(".。")
    return said[:1].upper() + said[1:] if said else None

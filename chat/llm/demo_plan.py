"""What the demo model makes of a task: which tools it needs, in which order.

task, tools that exist -> steps and conditions, or nothing.  Touches: nothing (pure).
"""

import re
from dataclasses import dataclass

from chat.llm import demo_read
from chat.types import Json

_INTENTS: dict[str, tuple[str, ...]] = {
    "forget": (r"\bforget\b", r"忘记|忘掉|忘了吧"),
    "recall": (
        r"what do you (know|remember) about me",
        r"what (are|were) my\b|what do i (like|prefer)|do you (remember|know) (my|what i)",
        r"你(知道|记得|了解)我|我的(偏好|喜好)|我喜欢什么|记得我",
    ),
    "remember": (
        r"\bremember\b(?! (my|what))|keep in mind|\bi (really )?(prefer|always want)\b",
        r"请?记住|记一下我|帮我记着",
    ),
    "save": (
        r"\b(save|write|store|create|make|take)\b.{0,30}\b(note|file|memo)|\bnote down\b",
        r"(保存|写|记|存|建)(下|成|为|个|一个|一份|一条|到)*.{0,8}(笔记|文件|备忘)",
    ),
    "delete": (r"\b(delete|remove)\b.{0,30}\b(note|file)", r"删(除|掉).{0,10}(笔记|文件)"),
    "list": (r"\b(list|which|what)\b.{0,20}\b(files|notes)\b", r"有(哪些|什么)(文件|笔记)|列出.{0,6}(文件|笔记)"),
    "read": (
        r"\b(read|show|open|see)\b.{0,30}\b(notes?|files?|memo)",
        r"(读|看|打开|显示).{0,10}(笔记|文件|备忘)",
    ),
    "book": (
        r"\b(book|reserve|reservation)\b|nights? in\b",
        r"预订|预定|订(?!单).{0,12}(房|酒店|套房|标准间|旅馆)|住.{0,3}晚",
    ),
    "hotels": (r"\bhotels?\b", r"酒店|旅馆|宾馆"),
    "weather": (
        r"\bweather\b|\brain(s|y|ing)?\b|\bforecast\b|\bsunny\b|\bumbrella\b",
        r"天气|下雨|雨天|晴天|带伞",
    ),
    "time": (
        r"what('s| is) the (time|date)|what time is it|what day is|which day is",
        r"现在几点|几点了|今天(是)?(几号|星期|周)|什么时间",
    ),
}
_TOOLS: dict[str, tuple[str, ...]] = {
    "remember": ("remember",),
    "recall": ("search_memory",),
    "forget": ("forget_memory",),
    "save": ("write_file",),
    "delete": ("delete_file",),
    "list": ("list_files",),
    "read": ("list_files", "read_file"),
    "book": ("search_hotels", "book_hotel"),
    "hotels": ("search_hotels",),
    "weather": ("get_weather",),
    "time": ("now",),
    "sum": ("calculate",),
}
_ORDER = ("weather", "hotels", "book")  # one needs the other, whatever the order of the words
_TITLES = {
    "get_weather": ("Check the weather{place}{day}", "查看{place}{day}的天气"),
    "search_hotels": ("Find hotels{place}", "搜索{place}的酒店"),
    "book_hotel": ("Book the room", "预订房间"),
    "calculate": ("Work out {sum}", "计算 {sum}"),
    "remember": ("Remember what was said", "记住这件事"),
    "search_memory": ("Look up what is known", "查找已知的信息"),
    "forget_memory": ("Forget it", "忘掉它"),
    "write_file": ("Save the note", "保存笔记"),
    "read_file": ("Read the note", "读取笔记"),
    "list_files": ("List the notes", "列出笔记"),
    "delete_file": ("Delete the note", "删除笔记"),
    "now": ("Look at the clock", "查看时间"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Intentions:
    """The tools a task needs, in order, and what is wanted but cannot be done."""

    tools: tuple[str, ...]
    missing: tuple[str, ...]


def understand(task: str, catalogue: tuple[str, ...]) -> Intentions:
    found: list[tuple[int, str]] = []
    for intent, patterns in _INTENTS.items():
        if match := re.search("|".join(patterns), task, re.IGNORECASE):
            found.append((match.start(), intent))
    if (total := demo_read.arithmetic(task)) and not any(i in {"book", "hotels", "weather"} for _, i in found):
        found.append((max(0, task.find(total[:1])), "sum"))
    names = [intent for _, intent in sorted(found)]
    travel = [intent for intent in _ORDER if intent in names]
    names = [name for name in names if name not in _ORDER] + travel
    if "recall" in names:
        names = ["recall"]
    if {"remember", "save"} & set(names) and "read" in names:
        names.remove("read")
    if "save" in names and "list" in names:
        names.remove("list")
    wanted = list(dict.fromkeys(tool for name in names for tool in _TOOLS[name]))
    return Intentions(
        tools=tuple(tool for tool in wanted if tool in catalogue or not catalogue),
        missing=tuple(tool for tool in wanted if catalogue and tool not in catalogue),
    )


def plan(scene: demo_read.Scene, tools: tuple[str, ...]) -> Json:
    """The arguments of set_plan."""
    steps = [{"title": title(tool, scene), "tool": tool} for tool in tools]
    asked = conditions(scene) if "get_weather" in tools else []
    return {"steps": steps, **({"conditions": asked} if asked else {})}


def title(tool: str, scene: demo_read.Scene) -> str:
    english, chinese = _TITLES.get(tool, (f"Use {tool}", f"使用 {tool}"))
    place = _place(scene)
    days = demo_read.dates(scene.task, scene.today)
    values = {"sum": demo_read.arithmetic(scene.task), "place": "", "day": ""}
    if scene.chinese:
        values |= {"place": place, "day": f"{days[0].month}月{days[0].day}日" if days else ""}
        return chinese.format(**values)
    values |= {"place": f" in {place}" if place else "", "day": f" on {days[0]:%B} {days[0].day}" if days else ""}
    return english.format(**values)


def _place(scene: demo_read.Scene) -> str:
    """The city as the person writes it."""
    place = demo_read.city(scene.task)
    written = (word for word, name in demo_read.CITIES.items() if name == place and word in scene.task)
    return next(written, place) if scene.chinese else place


def conditions(scene: demo_read.Scene) -> list[Json]:
    """The rule "if it rains X, otherwise Y" of a task."""
    task = scene.task
    patterns = (
        r"if it (?:rains|is rain(?:ing|y))(?: (?:on )?(?:that day|then|there))?\s*[,;:]?\s*(?P<yes>[^.;]*?)"
        r"[,;.]?\s*(?:otherwise|else|if not)[,:]?\s*(?P<no>[^.;\n]+)",
        r"(?P<yes>[^.,;]*?) if it rains[^,;.]*[,;]\s*(?:otherwise|else|if not)[,:]?\s*(?P<no>[^.;\n]+)",
        r"(?P<no>[^.,;]*?),? unless it rains[^,;.]*[,;]\s*(?:then|in which case)?\s*(?P<yes>[^.;\n]+)",
        r"(?:如果|要是|若|假如)?\s*(?:当天|那天)?(?:下雨|有雨|雨天)[^,，。;；]*?(?:就|则|的话)?[,，]?\s*(?P<yes>[^,，。;；]*?)"
        r"[,，。;；]\s*(?:否则|不然|要不|如果?不下雨|不下雨|晴天)(?:就|则|的话)?[,，]?\s*(?P<no>[^,，。;；\n]+)",
    )
    for pattern in patterns:
        if found := re.search(pattern, task, re.IGNORECASE):
            place, days = _place(scene), demo_read.dates(task, scene.today)
            day = f"{days[0]:%m-%d}" if days else ""
            if scene.chinese:
                question = f"{place} {day} 下雨吗？".strip()
            else:
                question = f"Does it rain{f' in {place}' if place else ''}{f' on {day}' if day else ''}?"
            return [{"question": question, "if_yes": found["yes"].strip() or "yes", "if_no": found["no"].strip()}]
    return []

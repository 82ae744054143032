"""What the demo model says: answers from results, and narrow questions decided on their evidence by rule.

Scene -> text, or a structured reply.  Touches: nothing (pure).
"""

import json
import re
from typing import Any

from chat.llm import demo_fill, demo_plan, demo_read
from chat.llm.demo_fill import failed
from chat.llm.demo_read import Scene
from chat.types import Json

_RAIN = re.compile(r"\b(rain\w*|shower\w*|storm\w*|drizzle)\b|[有小中大暴阵雷]*雨", re.IGNORECASE)
_DRY = re.compile(r"\b(no rain|sunny|clear|dry|cloud\w*|overcast|fair)\b|无雨|晴|多云|阴", re.IGNORECASE)
_CONTROL = {"set_plan", "revise_plan", "finish", "ask_user", "mark_step_failed", "update_slots"}

WHO = (
    (
        "I am the **demo model**: a set of rules that stands in for a language model, "
        "so that you can try this page without one.\n\n"
        "I can do a few things, and do them for real:\n"
        "- plan a trip: *Two nights in Xi'an from October 1. If it rains book a suite, otherwise a standard room.*\n"
        "- remember: *Remember that I prefer quiet rooms on a high floor.* — and then: *What do you know about me?*\n"
        "- work things out: *What is 17\\*23?*\n"
        "- keep notes: *Save a note: buy tea.* — *Read my notes.*\n\n"
        "For anything else connect a language model: set `OPENAI_BASE_URL`, "
        "or start Ollama or llama.cpp on this machine."
    ),
    (
        "我是**演示模型**：一组规则，用来代替语言模型，让你不连接模型也能试用这个页面。\n\n"
        "我能真正做几件事：\n"
        "- 安排行程：*10月1日在西安住两晚。如果下雨订套房，否则订标准间。*\n"
        "- 记住：*请记住，我喜欢高楼层的安静房间。* 然后问：*你知道我什么？*\n"
        "- 计算：*17\\*23 等于多少？*\n"
        "- 保存笔记：*保存笔记：买茶叶。* *读我的笔记。*\n\n"
        "要做别的事，请连接语言模型：设置 `OPENAI_BASE_URL`，或在本机启动 Ollama 或 llama.cpp。"
    ),
)
CANNOT = (
    "I am the demo model, a set of rules, and I do not know how to do that. ",
    "我是演示模型，只是一组规则，这件事我不会做。",
)
GREETINGS = re.compile(
    r"^\s*(hi|hello|hey|good (morning|afternoon|evening)|thanks?( you)?|bye"
    r"|你好|您好|嗨|早上好|下午好|晚上好|谢谢|再见)"
    r"([\s!,.。！，~]+(there|agent))?[啊呀\s!.。！~]*$"
    r"|who are you|what (can|do) you do|what are you|\bhelp\b|你是谁|你能做什么|你会什么|帮助",
    re.IGNORECASE,
)


def small_talk(scene: Scene) -> str:
    who = WHO[scene.chinese]
    return who if GREETINGS.search(scene.task) else CANNOT[scene.chinese] + who.split("\n\n", 1)[1]


# ---- the answer at the end ----


def conclusion(scene: Scene) -> Json:
    """The arguments of finish, from what the results say."""
    good = [(tool, args, text) for tool, args, text in scene.everything if tool not in _CONTROL and not failed(text)]
    lines = [line for tool, args, text in good if (line := _line(tool, args, text, scene))]
    lines += [_decided(line, scene) for line in scene.decided]
    undone = [re.sub(r"^[✗–▶ ]+\d+\s*", "", step) for step in scene.plan if step.startswith(("✗", "▶", " "))]
    if not lines and any(step.startswith("✓") for step in scene.plan):
        # The agent's own bookkeeping leaves no result in the prompt, only a step that is done.
        did = demo_plan.understand(scene.task, ()).tools
        lines = [line for tool in did if (line := _line(tool, demo_fill.arguments_by_words(tool, scene), "", scene))]
    if not lines:
        lines = ["什么也没有做成。" if scene.chinese else "Nothing came of it."]
    answer: Json = {"answer": "\n\n".join(lines)}
    if tools := list(dict.fromkeys(tool for tool, _, _ in good)):
        answer["sources"] = tools
    if undone:
        answer["open_points"] = undone
    return answer


def stuck(scene: Scene) -> str:
    """A question to the person when no rule knows how to go on."""
    scene_lines = [line[2:] for line in scene.now.splitlines() if line.startswith("- ")]
    why = (
        re.sub(r"^[\w.-]+ \{.*?\}: ", "", scene_lines[-1])
        if scene_lines
        else scene.now.removeprefix("The plan cannot go on:").strip()
    )
    why = re.sub(r"\s*(Likely cause:|Next:).*$", "", why.splitlines()[0]) if why else ""
    if scene.chinese:
        return f"这一步没有成功：{why} 接下来该怎么做？（演示模型只会照简单的规则办）"
    return f"That did not work: {why} What should I do instead? (The demo model only follows simple rules.)"


def _decided(line: str, scene: Scene) -> str:
    found = re.match(r"(.*\S)\s+(yes|no): (.*)", line)
    if not found:
        return line
    if scene.chinese:
        return f"依据：{found[1]} **{'是' if found[2] == 'yes' else '否'}**，所以{found[3]}。"
    return f"The rule you gave: {found[1]} **{found[2]}**, so {found[3]}."


_ZH = {"rain": "雨", "sunny": "晴", "cloudy": "多云", "suite": "套房", "standard": "标准间", "Xi'an": "西安"}


def _say(word: Any, scene: Scene) -> str:
    return _ZH.get(str(word), str(word)) if scene.chinese else str(word)


def _line(tool: str, args: Json, text: str, scene: Scene) -> str:
    zh = scene.chinese
    data = demo_read.as_json(text)
    values: Json = data if isinstance(data, dict) else {}
    match tool:
        case "get_weather":
            sky = _first(values, "condition", "weather", "sky", "summary") or text
            degrees = _first(values, "temperature", "temperature_c", "temp_c", "high", "temp")
            where, day, sky = _say(args.get("city", ""), scene), args.get("date", ""), _say(sky, scene)
            degree = f"，{degrees} °C" if zh and degrees else f", {degrees} °C" if degrees else ""
            return f"{where} {day} 的天气：{sky}{degree}。" if zh else f"Weather in {where} on {day}: {sky}{degree}."
        case "search_hotels":
            return ""
        case "book_hotel":
            order = _first(values, "order_id", "order", "booking_id", "confirmation") or text
            hotel = _first(values, "hotel", "hotel_name", "name") or args.get("hotel_id") or args.get("hotel") or ""
            room = _first(values, "room_type", "room") or args.get("room_type") or args.get("room") or ""
            room = _say(room, scene)
            begin, nights = args.get("date_from") or args.get("date") or "", args.get("nights") or ""
            if zh:
                return f"已预订：**{hotel}**，{room}，{begin} 起 {nights} 晚。订单号 `{order}`。"
            return f"Booked: **{hotel}**, {room}, {nights} nights from {begin}. Order `{order}`."
        case "calculate":
            return f"**{text.strip()}**" if "=" in text else f"{args.get('expression', '')} = **{text.strip()}**"
        case "remember" if "ot remembered" in text or "review" in text:
            return text.strip()
        case "remember":
            return f"好的，我会记住：{args.get('text', '')}。" if zh else f"I will remember: {args.get('text', '')}."
        case "now":
            return f"现在是 {text.strip()}。" if zh else f"It is {text.strip()}."
        case "forget_memory":
            return "好的，已经忘掉。" if zh else "It is forgotten."
        case "search_memory":
            found = _memories(data, text)
            if not found and not scene.known:
                return "我还不知道关于你的任何事。" if zh else "I do not know anything about you yet."
            head = "我知道的是：" if zh else "This is what I know:"
            return "\n".join([head, *(f"- {item}" for item in dict.fromkeys([*found, *scene.known]))])
        case "write_file":
            return f"已保存到 `{args.get('path', '')}`。" if zh else f"Saved as `{args.get('path', '')}`."
        case "delete_file":
            return f"已删除 `{args.get('path', '')}`。" if zh else f"Deleted `{args.get('path', '')}`."
        case "read_file":
            content = _first(values, "text", "content") or text
            return f"`{args.get('path', '')}`:\n\n> " + str(content).strip().replace("\n", "\n> ")
        case "list_files":
            names = re.findall(r"[\w\-./]+\.\w{1,5}\b", text)
            if not names:
                return "还没有笔记。" if zh else "There are no notes yet."
            return ("文件：" if zh else "Files: ") + ", ".join(f"`{name}`" for name in dict.fromkeys(names))
    return f"`{tool}`: {text[:400]}"


def _first(values: Json, *names: str) -> Any:
    return next((values[name] for name in names if values.get(name) not in (None, "")), "")


def _memories(data: Any, text: str) -> list[str]:
    """The texts of memories in a result of any shape."""
    if isinstance(data, dict):
        data = next((item for item in data.values() if isinstance(item, list)), [data] if data.get("text") else [])
    if isinstance(data, list):
        return [
            str(item.get("text") or item.get("content") or item) if isinstance(item, dict) else str(item)
            for item in data
        ]
    return [line.strip(" -") for line in text.splitlines() if line.startswith("-")]


# ---- narrow questions ----


def structured(scene: Scene) -> str:
    """A reply that fits the schema asked for, decided on the evidence in the prompt."""
    data = "\n".join(re.findall(r"<data>\n?(.*?)\n?</data>", scene.whole, re.DOTALL)) or scene.whole
    question = (re.findall(r"Question: (.*)", scene.whole) or [scene.whole])[-1]
    verdict, quote = decide(question, data)
    return json.dumps(fill(scene.schema or {}, "reply", verdict, quote), ensure_ascii=False)


def decide(question: str, data: str) -> tuple[str, str]:
    """yes, no or unknown, and the words of the data that say so."""
    results = data.rsplit(" returned ", 1)[-1]
    if re.search(r"rain|雨", question, re.IGNORECASE):
        dry, wet = _DRY.search(results), _RAIN.search(results)
        if wet and not (dry and dry[0].lower() in {"no rain", "无雨"}):
            return "yes", wet[0]
        return ("no", dry[0]) if dry else ("unknown", "")
    if re.search(r"sun|晴", question, re.IGNORECASE):
        dry = _DRY.search(results)
        return ("yes", dry[0]) if dry and not _RAIN.search(results) else ("no", _quote(results))
    named = re.findall(r"['\"“‘]([^'\"”’]{2,60})['\"”’]", question)
    if named:
        found = next((word for word in named if word.lower() in results.lower()), "")
        return ("yes", found) if found else ("no", "")
    if re.search(r"\b(error|failed|not found|refused)\b", results, re.IGNORECASE) or not results.strip():
        return "no", _quote(results)
    return "yes", _quote(results)


def _quote(text: str) -> str:
    return text.strip()[:60].strip()


def fill(schema: Json, name: str, verdict: str, quote: str) -> Any:
    """A value for the schema: verdicts by their enum, quotes from the data, else what is empty."""
    if options := schema.get("enum"):
        words = {
            "yes": ("yes", "pass", "passed", "true", "satisfied"),
            "no": ("no", "fail", "failed", "false"),
            "unknown": ("unknown", "unclear"),
        }
        for wanted in (verdict, "no"):
            for option in options:
                if str(option).lower() in words[wanted]:
                    return option
        return options[-1]
    match schema.get("type"):
        case "object":
            return {key: fill(prop, key, verdict, quote) for key, prop in schema.get("properties", {}).items()}
        case "array":
            return [quote] if quote and (schema.get("items") or {}).get("type") == "string" else []
        case "boolean":
            return verdict == "yes"
        case "integer" | "number":
            return schema.get("minimum", 0)
    if "reason" in name:
        return f"The evidence says: {quote}" if quote else "The evidence does not say."
    return quote if re.search(r"quote|evidence|because", name) else ""

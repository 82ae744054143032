"""The demo model: rules that stand in for a language model, so that everything can be tried without one.

request body -> reply, spoken through the same wire as a real endpoint.  Touches: nothing outside the process.

It is also the example of a policy: read the request, choose the next call, fill its arguments, answer from results.
It works only with what the loop offers: a tool that is not offered or described is never called.
"""

import re
from typing import Any

from chat.llm import demo_answer, demo_fill, demo_plan, demo_read
from chat.llm.base import OnCall, OnNotice, OnText, Request
from chat.llm.demo_read import Scene
from chat.llm.openai_api import OpenAILLM
from chat.llm.wire import PolicyTransport
from chat.types import Json, Reply

_CONTROL = {"set_plan", "revise_plan", "finish", "ask_user", "mark_step_failed", "update_slots"}
_QUESTIONS = {
    "city": ("Which city is it about?", "是哪个城市？"),
    "date": ("For which day?", "是哪一天？"),
    "room": ("Which room: suite or standard?", "要哪种房间：套房还是标准间？"),
    "expression": ("What should I work out?", "要计算什么？"),
}


class DemoLLM:
    """The demo model behind the loop's protocol."""

    is_demo = True
    name = "demo model"

    def __init__(self, *, delay: float = 0.012) -> None:
        self.transport = PolicyTransport(policy, model="demo model", delay=delay, keep=False)
        self._llm = OpenAILLM(
            base_url="http://demo.invalid/v1", model="demo model", wire="native", is_free=True, transport=self.transport
        )

    async def reply(
        self,
        request: Request,
        *,
        on_text: OnText | None = None,
        on_call: OnCall | None = None,
        on_notice: OnNotice | None = None,
    ) -> Reply:
        return await self._llm.reply(request, on_text=on_text, on_call=on_call, on_notice=on_notice)


def policy(body: Json) -> Json:
    """The next reply."""
    scene = demo_read.read_scene(body)
    if body.get("response_format"):
        return {"text": demo_answer.structured(scene)}
    if not scene.tools:
        return {"text": _summary(scene)}
    tool, arguments = choose(scene)
    return {"calls": [{"name": tool, "args": arguments}]}


def choose(scene: Scene) -> tuple[str, Json]:
    """The next call."""
    if "set_plan" in scene.tools:
        return _begin(scene)
    if "The plan cannot go on" in scene.now:
        return _replan(scene)
    business = [name for name in scene.tools if name not in _CONTROL]
    if business:
        return _act(_named(business, scene), scene)
    if "finish" in scene.tools:
        return "finish", demo_answer.conclusion(scene)
    return "ask_user", {"question": _question("", scene)}


def _replan(scene: Scene) -> tuple[str, Json]:
    """The rules know no other way: say so, ask what to do, and follow the answer once. A new goal gets a new plan."""
    if "changed the goal" in scene.now and "revise_plan" in scene.tools:
        tools = [name for name in demo_plan.understand(scene.task, scene.catalogue).tools if not _is_done(name, scene)]
        if tools:
            return "revise_plan", {"reason": scene.task[:300], "steps": demo_plan.plan(scene, tuple(tools))["steps"]}
    if "finish" in scene.tools and not (
        scene.added and "revise_plan" in scene.tools and not _gives_up(scene.added[-1])
    ):
        return "finish", demo_answer.conclusion(scene)
    if "revise_plan" in scene.tools and scene.added:
        wish = scene.added[-1]
        tools = [name for name in demo_plan.understand(scene.task, scene.catalogue).tools if not _is_done(name, scene)]
        steps = [{"title": f"{demo_plan.title(name, scene)}: {wish[:80]}", "tool": name} for name in tools]
        if steps:
            return "revise_plan", {"reason": wish[:300], "steps": steps}
    return "ask_user", {"question": demo_answer.stuck(scene)}


def _gives_up(words: str) -> bool:
    return bool(
        re.search(
            r"\b(no|stop|never ?mind|forget it|cancel|leave it|nothing)\b|算了|取消|不用|不要了|停",
            words,
            re.IGNORECASE,
        )
    )


def _is_done(tool: str, scene: Scene) -> bool:
    return any(name == tool and not demo_fill.failed(text) for name, _, text in scene.results)


def _begin(scene: Scene) -> tuple[str, Json]:
    """Plan, or answer at once."""
    understood = demo_plan.understand(scene.task, scene.catalogue)
    if not understood.tools or any(name == "set_plan" for name, _, _ in scene.evidence[-2:-1]):
        return "finish", {"answer": demo_answer.small_talk(scene)}
    return "set_plan", demo_plan.plan(scene, understood.tools)


def _named(business: list[str], scene: Scene) -> str:
    """The tool that the step names, else the first that is offered."""
    found = [(scene.now.find(name), name) for name in business if name in scene.now]
    return min(found)[1] if found else business[0]


def _act(tool: str, scene: Scene) -> tuple[str, Json]:
    """Call the tool of the step; a fault is mended once, then the step is given up."""
    before = [args for name, args, text in scene.evidence if name == tool and demo_fill.failed(text)]
    arguments, missing = demo_fill.arguments(tool, scene)
    if tool == "read_file" and "path" in missing and "mark_step_failed" in scene.tools:
        missing_file = "There is no note to read." if not scene.chinese else "没有可读的笔记。"
        return _give_up(missing_file, scene)
    if missing and "ask_user" in scene.tools:
        question = _question(missing[0], scene)
        if not any(name == "ask_user" and args.get("question") == question for name, args, _ in scene.evidence):
            return "ask_user", {"question": question}
    if missing and "mark_step_failed" not in scene.tools:
        return tool, arguments  # refused with what it lacks; after that the ways out are described
    if missing or arguments in before or len(before) > 1:
        reason = scene.evidence[-1][2][:200] if scene.evidence else f"Nothing says: {', '.join(missing)}"
        return _give_up(reason, scene)
    return tool, arguments


def _give_up(reason: str, scene: Scene) -> tuple[str, Json]:
    if "mark_step_failed" in scene.tools:
        return "mark_step_failed", {"note": reason[:300]}
    return "finish", demo_answer.conclusion(scene)


def _question(missing: str, scene: Scene) -> str:
    key = next((key for key in _QUESTIONS if key in missing), "")
    english, chinese = _QUESTIONS.get(key, ("Can you say more exactly what you need?", "能说得更具体一些吗？"))
    return chinese if scene.chinese else english


def _summary(scene: Scene) -> str:
    """A request without tools asks for words about words: the demo model can only shorten them."""
    data: Any = re.findall(r"<data>\n?(.*?)\n?</data>", scene.whole, re.DOTALL)
    return " ".join(("\n".join(data) or demo_answer.small_talk(scene)).split())[:900]

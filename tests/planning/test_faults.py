"""What is told to the model about a plan that cannot be stored, and which slips are borne.

Touches: nothing (pure).
"""

from typing import Any

import pytest

from planning.drafts import CheckDraft, PlanDraft, StepDraft
from planning.faults import faults, offers
from planning.slips import mend
from planning.types import PlanView
from tests.planning.tools import TOOLS, draft, one, step


def told(plan: PlanDraft, **more: Any) -> list[str]:
    return faults(plan, tools=TOOLS, **more)


GOOD = draft(("Check the weather", "get_weather"), ("Find hotels", "search_hotels"), ("Book a room", "book_hotel"))


def test_a_plain_plan_has_no_faults() -> None:
    assert told(GOOD) == []


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (draft(), "has no steps"),
        (draft(*[(f"Look at {n}", "now") for n in range(40)]), "has 40 steps; at most 8"),
        (draft(("Look", "weather")), "Step 1 uses `weather`, which is not a tool. Did you mean get_weather?"),
        (draft(("Look", "wether")), "Did you mean get_weather?"),
        (draft(("Look", "hotel_search")), "Did you mean search_hotels"),
        (draft(("Look", "xyzzy")), "Tools: book_hotel, calculate"),
        (draft(("A", "now", [2]), ("B", "calculate", [1])), "Steps 1 and 2 wait for each other"),
        (draft(("A", "now", [3]), ("B", "now", [1]), ("C", "now", [2])), "Steps 1 and 2 and 3 wait for each other"),
        (draft(("A", "now", [1])), "Step 1 waits for itself"),
        (
            draft(("A", "now"), ("B", "calculate", [7])),
            "Step 2 waits for step 7, which does not exist. There are 2 steps.",
        ),
        (draft(("Same thing", "now"), ("Same thing!", "now")), "Steps 1 and 2 are the same. Keep one."),
        (draft(("Look", "now"), ("Look again, please", "now")), "Steps 1 and 2 are the same"),
        (draft(("Do the whole task", "now")), "too large"),
        (draft(("完成整个任务", "now")), "too large"),
        (draft(("x" * 5_000, "now")), "too large"),
        (draft({"title": "All", "tools": ["now", "calculate", "read_file"]}), "too large"),
        (draft({"title": "Mend the roof", "tool": ""}), "names no tool"),
        (draft({"title": "Ask the user which hotel", "tool": ""}), "Call ask_user"),
        (draft({"title": "A", "tool": "now", "check": {"kind": "judge", "question": "ok"}}), "lacks its question"),
        (draft({"title": "A", "tool": "now", "check": {"kind": "slot_present"}}), "lacks its slot"),
        (draft({"title": "A", "tool": "now", "check": {"kind": "result_matches"}}), "accepts any result"),
        (draft({"title": "A", "tool": "now", "check": {"schema": {"type": "objekt"}}}), "no valid JSON Schema"),
        (
            draft({"title": "A", "tool": "now", "check": {"schema": {"type": "string", "pattern": "(a+)+$"}}}),
            "uses pattern",
        ),
        (draft({"title": "A", "tool": "now", "check": {"schema": {"$ref": "http://x/"}}}), "uses $ref"),
        (draft({"title": "A", "tool": "now", "check": {"kind": "tool_succeeded", "tool": "nope"}}), "not a tool"),
        (
            draft({"title": "A", "tool": "now", "check": {"kind": "tool_succeeded", "tool": "calculate"}}),
            "but the step uses now",
        ),
        (draft(("A", "now"), conditions=[{"question": "", "if_yes": ""}]), "Condition 1 needs"),
    ],
)
def test_a_fault_is_told_in_words_that_can_be_acted_on(plan: PlanDraft, said: str) -> None:
    found = told(plan)
    assert any(said in fault for fault in found), found
    assert all(len(fault) < 260 for fault in found)


def test_all_faults_are_told_at_once() -> None:
    found = told(draft(("A", "nope"), ("B", "now", [9]), ("B", "now", [9]), ("Do everything", "now", [4])))
    assert len(found) >= 5


def test_a_step_that_is_done_is_not_planned_again() -> None:
    done = [step("Check the weather", "get_weather", "done")]
    assert "done already" in told(draft(("Check weather again", "get_weather")), done=done)[0]
    assert told(draft(("Check the weather of Beijing", "get_weather")), done=done) == []


@pytest.mark.parametrize(
    ("title", "excluded", "tries"),
    [
        ("Search channel A again", "channel A", True),
        ("Search channel A", "not channel A", True),
        ("Search channel B", "channel A", False),
        ("Search all channels", "channel A", False),
        ("Search a channel", "a", True),
        ("Search anything", "a", False),
        ("Search elsewhere, not in channel A", "channel A", False),
        ("Search any channel except channel A", "channel A", False),
        ("在渠道A搜索", "渠道A", True),
        ("换一个渠道，不用渠道A", "渠道A", False),
        ("Book the standard room", "standard room", True),
        ("Look", "now", True),  # the tool itself
        ("Look", "", False),
    ],
)
def test_a_step_that_tries_what_was_ruled_out_is_seen(title: str, excluded: str, tries: bool) -> None:
    assert offers(one(title), excluded) is tries
    assert bool(told(draft((title, "now")), exclusions=[excluded])) is tries


def plan_of(*steps: Any) -> PlanView:
    return PlanView(id=1, revision=1, goal="g", steps=tuple(steps))


@pytest.mark.parametrize(
    ("now", "refused"),
    [
        (draft(("Search channel A", "now"), ("Write it down", "write_file")), True),
        (draft(("Please search channel A again", "now"), ("Then write it down", "write_file")), True),
        (draft(("Search channel B", "now"), ("Write it down", "write_file")), False),
        (draft(("Search channel A", "read_file"), ("Write it down", "write_file")), False),
        (draft(("Write it down", "write_file"), ("Search channel A", "now")), False),
        (draft(("Write it down", "write_file")), False),
    ],
)
def test_a_plan_equal_in_substance_to_the_failed_one_is_refused(now: PlanDraft, refused: bool) -> None:
    failed = plan_of(
        step("Get the key", "now", "done"),
        step("Search channel A", "now", "failed"),
        step("Write it down", "write_file"),
    )
    assert bool([fault for fault in told(now, failed=failed) if "the plan that failed" in fault]) is refused


# ---- slips that are borne ----------------------------------------------------------------------------------------------


def mended(*steps: Any) -> list[StepDraft]:
    return mend(draft(*steps).steps, TOOLS)[0]


@pytest.mark.parametrize(
    "name",
    [
        "get_weather",
        "Get_Weather",
        "getWeather",
        "get-weather",
        "get weather",
        "functions.get_weather",
        "get_weather(city)",
        ["get_weather"],
        {"name": "get_weather"},
    ],
)
def test_a_tool_spelled_otherwise_is_the_tool(name: Any) -> None:
    assert mended({"title": "Look", "tool": name})[0].tool == "get_weather"


def test_a_tool_that_only_the_title_names_is_the_tool() -> None:
    assert mended("Use get_weather for 10-01")[0].tool == "get_weather"
    assert mended({"title": "Search for hotels", "tool": None})[0].tool == "search_hotels"
    assert mended({"title": "Repair the roof"}, ("x", "now"))[0].tool == ""


def test_a_title_left_out_is_the_purpose_of_the_tool() -> None:
    assert mended({"tool": "get_weather"})[0].title == "Tell the weather of a day"


@pytest.mark.parametrize(
    "thought",
    [
        "Analyse the results",
        "Decide which room to take",
        "Summarize and answer the user",
        "分析结果",
        "Finally, report the answer",
    ],
)
def test_a_step_that_only_thinks_is_folded_away(thought: str) -> None:
    kept, moved, notes = mend(draft(("Look", "now"), {"title": thought}, ("Save", "write_file")).steps, TOOLS)
    assert [one.title for one in kept] == ["Look", "Save"] and moved[3] == 2 and len(notes) == 1


def test_finish_is_no_step() -> None:
    assert [one.title for one in mended(("Look", "now"), ("Answer", "finish"))] == ["Look"]


def test_a_plan_of_thoughts_alone_stays_and_is_explained() -> None:
    assert "names no tool" in faults(PlanDraft(steps=mended("Think about it")), tools=TOOLS)[0]


def test_who_waited_for_a_folded_step_waits_for_what_it_waited_for() -> None:
    kept = mended(
        ("A", "now", []), ("B", "calculate", []), {"title": "Compare both", "after": [1, 2]}, ("D", "write_file", [3])
    )
    assert kept[2].after == [1, 2]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ([None, [0], [1]], [None, [1], [2]]),  # counted from 0
        ([[], [0], [0, 1]], [[], [1], [1, 2]]),
        ([[0], [1], [2]], [[], [1], [2]]),  # 0 of the first step: nothing
        ([None, [2], None], [None, None, None]),  # itself: the one before
        ([None, "step 1", ["2"]], [None, [1], [2]]),
        ([None, "1", 2], [None, [1], [2]]),
        ([[2], [], [1]], [[2], [], [1]]),  # out of order, but no ring
    ],
)
def test_numbers_of_steps_are_read_as_meant(given: list[Any], meant: list[Any]) -> None:
    steps = [{"title": name, "tool": "now", "after": after} for name, after in zip("ABC", given, strict=True)]
    assert [one.after for one in mended(*steps)] == meant


def test_steps_may_come_as_text() -> None:
    plan = PlanDraft.model_validate({"steps": '[{"title": "Look", "tool": "now"}]'})
    assert plan.steps[0].tool == "now"
    assert [one.title for one in PlanDraft.model_validate({"steps": "- Look\n- Save"}).steps] == ["Look", "Save"]
    assert PlanDraft.model_validate({"steps": None}).steps == []


def test_a_check_in_loose_form_is_read_or_left_to_the_tool() -> None:
    assert one(check="the weather is known").checks == []
    assert one(check="tool_succeeded").checks[0].kind == "tool_succeeded"
    assert one(check="Is the weather of the right day?").checks[0].kind == "judge"
    assert one(check={"kind": "success"}).checks[0].kind == "tool_succeeded"
    assert CheckDraft.model_validate({"schema": {"order_id": "string"}}).json_schema["required"] == ["order_id"]
    assert CheckDraft.model_validate({"schema": ["order_id"]}).kind == "result_matches"


@pytest.mark.parametrize(
    ("when", "read"),
    [
        ("yes 1", {"condition": "c1", "branch": "yes"}),
        ("2: no", {"condition": "c2", "branch": "no"}),
        ("if it rains", {}),
        ("", {}),
    ],
)
def test_the_branch_of_a_step_is_read(when: str, read: dict[str, str]) -> None:
    assert one(when=when).when == read

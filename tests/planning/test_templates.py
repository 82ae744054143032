"""Finished plans kept for similar goals: what becomes a blank, what is alike, what the model is offered.

Touches: rows.
"""

import pytest
from django.contrib.auth.models import User

from chat.models import Turn
from planning import plans, templates
from planning.models import Plan, PlanTemplate
from tests.planning.tools import TOOLS, draft

pytestmark = pytest.mark.django_db
TRIP = "Two nights in Xi'an from October 1, at most 900 yuan"


def kept(
    turn: Turn, goal: str, *steps: tuple[str, str] | tuple[str, str, list[int]], name: str = "Trip"
) -> PlanTemplate:
    Plan.objects.filter(turn=turn).delete()
    plans.set_plan(turn.id, turn.conversation_id, goal, draft(*steps), tools=TOOLS)
    return templates.keep(turn.id, turn.conversation.user_id, name)


@pytest.mark.parametrize(
    ("title", "blanked"),
    [
        ("Check the weather of October 1", "Check the weather of {date_1}"),
        ("Check the weather of 2026-10-01", "Check the weather of {date_1}"),
        ("查10月1日的天气", "查{date_1}的天气"),
        ("Work out 17 * 23", "Work out {value_1} * {value_2}"),
        ("Work out 17 * 17", "Work out {value_1} * {value_1}"),
        ("Find rooms below 10.5 dollars", "Find rooms below {value_1} dollars"),
        ("找两晚，最多900元", "找两晚，最多{value_1}元"),
        ('Save "Big 5" to a file', "Save {value_1} to a file"),
        ("保存“大”", "保存{value_1}"),
        ("Look at room XA-204b and file v2", "Look at room XA-204b and file v2"),
        ("Check the weather", "Check the weather"),
    ],
)
def test_what_differs_from_one_use_to_the_next_becomes_a_blank(turn: Turn, title: str, blanked: str) -> None:
    template = kept(turn, "goal", (title, "now"))
    assert template.steps[0]["title"] == blanked
    assert all("{" + name + "}" in blanked for name in template.blanks)


def test_the_same_value_is_the_same_blank_in_goal_and_steps(turn: Turn) -> None:
    template = kept(turn, TRIP, ("Check the weather of October 1", "get_weather"), ("Pay 900", "now"))
    assert template.goal == "Two nights in Xi'an from {date_1}, at most {value_2} yuan"
    assert [step["title"] for step in template.steps] == ["Check the weather of {date_1}", "Pay {value_2}"]
    assert template.blanks == ["date_1", "value_2"]


def test_a_template_filled_is_a_draft_that_can_be_planned(turn: Turn) -> None:
    template = kept(turn, TRIP, ("Weather of October 1", "get_weather"), ("Find hotels for 900", "search_hotels"))
    filled = templates.fill(template, {"date_1": "October 9", "value_2": "700"})
    Plan.objects.filter(turn=turn).delete()
    plan = plans.set_plan(turn.id, turn.conversation_id, "again", filled, tools=TOOLS)
    assert [step.title for step in plan.steps] == ["Weather of October 9", "Find hotels for 700"]
    assert [step.tools for step in plan.steps] == [("get_weather",), ("search_hotels",)]


def test_a_blank_without_a_value_stays_for_the_model_and_values_are_no_blanks_themselves(turn: Turn) -> None:
    template = kept(turn, TRIP, ("Weather of October 1 for 900", "get_weather"))
    assert templates.fill(template, {"date_1": "{value_2}"}).steps[0].title == "Weather of {value_2} for {value_2}"
    assert templates.fill(template, {}).steps[0].title == "Weather of {date_1} for {value_2}"


def test_a_skipped_step_is_left_out_and_the_others_still_wait_for_the_right_ones(turn: Turn) -> None:
    plan = plans.set_plan(
        turn.id,
        turn.conversation_id,
        TRIP,
        draft(("Look", "now"), ("Read", "read_file", []), ("Sum", "calculate", [1]), ("Save", "write_file", [2, 3])),
        tools=TOOLS,
    )
    plans.edit(turn.id, 1, {"op": "skip", "key": plan.steps[1].key})
    template = templates.keep(turn.id, turn.conversation.user_id, "x")
    assert [(step["title"], step["after"]) for step in template.steps] == [("Look", []), ("Sum", [1]), ("Save", [2])]


def test_without_a_plan_nothing_is_kept(turn: Turn) -> None:
    with pytest.raises(ValueError, match="no plan"):
        templates.keep(turn.id, turn.conversation.user_id, "x")
    assert not PlanTemplate.objects.exists()


@pytest.mark.parametrize(
    ("goal", "alike"),
    [
        ("Three nights in Xi'an from May 3, at most 500 yuan", True),
        ("two nights at Hangzhou", True),
        ("NIGHTS IN XI'AN", True),
        ("What is 17 * 23?", False),
        ("Remember that I like tea", False),
        ("Please can you tell me what you have for the 900", False),
        ("hi", False),
        ("", False),
    ],
)
def test_a_plan_is_offered_for_a_goal_that_shares_half_of_its_words(turn: Turn, goal: str, alike: bool) -> None:
    kept(turn, TRIP, ("Weather", "get_weather"))
    assert bool(templates.similar(turn.conversation.user_id, goal)) == alike


def test_chinese_goals_are_compared_by_their_characters(turn: Turn) -> None:
    kept(turn, "西安10月1日住两晚，先查天气再订酒店", ("查天气", "get_weather"))
    assert templates.similar(turn.conversation.user_id, "杭州5月3日住三晚，先查天气再订酒店")
    assert not templates.similar(turn.conversation.user_id, "请帮我把17乘23算一下")


def test_the_most_alike_come_first_and_three_at_most(turn: Turn) -> None:
    for goal in ("weather and hotels", "weather and hotels in Xi'an", "weather", "hotels in Xi'an", "sums"):
        kept(turn, goal, ("Look", "now"), name=goal)
    found = [template.name for template in templates.similar(turn.conversation.user_id, "weather and hotels in Xi'an")]
    assert found == ["weather and hotels in Xi'an", "weather and hotels", "hotels in Xi'an"]


def test_the_plans_of_another_person_are_neither_offered_nor_forgotten(turn: Turn, bob: User) -> None:
    template = kept(turn, TRIP, ("Weather", "get_weather"))
    assert not templates.similar(bob.pk, TRIP) and not templates.lines(bob.pk, TRIP, TOOLS)
    templates.forget(bob.pk, template.pk)
    assert PlanTemplate.objects.filter(pk=template.pk).exists()
    templates.forget(turn.conversation.user_id, template.pk)
    assert not PlanTemplate.objects.filter(pk=template.pk).exists()


def test_the_model_reads_one_line_a_plan(turn: Turn) -> None:
    kept(turn, TRIP, ("Weather of October 1", "get_weather"), ("Find hotels", "search_hotels"), name="A\ntrip")
    (line,) = templates.lines(turn.conversation.user_id, TRIP, TOOLS)
    assert line == "A trip: 1 Weather of {date_1} (get_weather); 2 Find hotels (search_hotels)"


def test_a_plan_whose_tools_are_gone_is_not_offered(turn: Turn) -> None:
    kept(turn, TRIP, ("Weather", "get_weather"), ("Find hotels", "search_hotels"))
    assert templates.lines(turn.conversation.user_id, TRIP, {"get_weather"}) == ()


def test_a_very_long_plan_is_cut_to_a_line(turn: Turn) -> None:
    kept(turn, TRIP, *((f"Look {'a' * 180} {n}", "now") for n in "abcdefgh"))
    (line,) = templates.lines(turn.conversation.user_id, TRIP, TOOLS)
    assert len(line) <= 400

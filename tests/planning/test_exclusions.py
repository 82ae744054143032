"""What was ruled out: kept once, passed on to every later plan of the conversation, until lifted.

Touches: rows.
"""

import pytest

from chat.models import Conversation, Turn
from planning import exclusions, plans
from planning.errors import PlanRefused
from planning.models import Exclusion
from tests.planning.tools import TOOLS, draft

pytestmark = pytest.mark.django_db


def test_it_is_kept_with_its_reason_its_evidence_and_who_said_it(turn: Turn) -> None:
    row = exclusions.rule_out(turn.conversation_id, "channel A", "nothing there", "0 results", iteration=4)
    assert (row.reason, row.evidence, row.author, row.iteration) == ("nothing there", "0 results", "agent", 4)
    theirs = exclusions.rule_out(turn.conversation_id, "channel B", "I looked", author="person")
    assert (theirs.author, theirs.evidence, theirs.iteration) == ("person", "", None)


@pytest.mark.parametrize("again", ["channel A", "CHANNEL a"])
def test_the_same_words_twice_are_one(turn: Turn, again: str) -> None:
    first = exclusions.rule_out(turn.conversation_id, "channel A", "nothing there")
    assert exclusions.rule_out(turn.conversation_id, again, "still nothing").pk == first.pk
    assert Exclusion.objects.count() == 1


def test_words_beyond_the_limit_are_cut_and_still_one(turn: Turn) -> None:
    long = "渠道" * 400
    first = exclusions.rule_out(turn.conversation_id, long, "r")
    assert len(first.text) == 300 and exclusions.rule_out(turn.conversation_id, long, "r").pk == first.pk


def test_a_lifted_one_is_passed_on_no_longer_and_may_be_ruled_out_again(turn: Turn) -> None:
    row = exclusions.rule_out(turn.conversation_id, "channel A", "nothing there")
    exclusions.lift(row.pk)
    row.refresh_from_db()
    lifted = row.lifted_at
    exclusions.lift(row.pk)
    row.refresh_from_db()
    assert lifted is not None and row.lifted_at == lifted
    assert exclusions.names(turn.conversation_id) == () and exclusions.live(turn.conversation_id) == ()
    assert exclusions.rule_out(turn.conversation_id, "channel A", "again").pk != row.pk
    assert exclusions.names(turn.conversation_id) == ("channel A",)


def test_an_edit_by_the_person_is_theirs_from_then_on(turn: Turn) -> None:
    row = exclusions.rule_out(turn.conversation_id, "channel A", "nothing there")
    exclusions.edit(row.pk, "channel A on weekdays" + "x" * 400)
    row.refresh_from_db()
    assert row.text.startswith("channel A on weekdays") and len(row.text) == 300
    assert (row.author, row.reason) == ("person", "nothing there")


def test_each_conversation_has_its_own(turn: Turn) -> None:
    other = Conversation.objects.create(user=turn.conversation.user)
    exclusions.rule_out(turn.conversation_id, "channel A", "r")
    assert exclusions.names(other.pk) == ()
    assert exclusions.rule_out(other.pk, "channel A", "r").conversation_id == other.pk
    assert Exclusion.objects.count() == 2


def test_the_prompt_gets_the_newest_twenty_oldest_first(turn: Turn) -> None:
    for number in range(25):
        exclusions.rule_out(turn.conversation_id, f"channel {number}", "r")
    found = exclusions.names(turn.conversation_id)
    assert found == tuple(f"channel {number}" for number in range(5, 25))
    assert len(exclusions.live(turn.conversation_id)) == 25


def test_a_later_turn_is_held_to_it_until_it_is_lifted(turn: Turn) -> None:
    row = exclusions.rule_out(turn.conversation_id, "search channel A", "nothing there")
    turn.status = Turn.Status.ENDED
    turn.save()
    later = Turn.objects.create(conversation=turn.conversation, number=2, goal="find it")
    plan = draft(("Search channel A again", "read_file"))

    def propose() -> None:
        names = exclusions.names(turn.conversation_id)
        plans.set_plan(later.id, turn.conversation_id, "find it", plan, tools=TOOLS, exclusions=names)

    with pytest.raises(PlanRefused, match="ruled out"):
        propose()
    exclusions.lift(row.pk)
    propose()
    assert plans.current(later.id) is not None

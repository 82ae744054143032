"""The plan in the browser, while it runs: edited in two tabs, its changes shown, approved first, worked by keyboard alone.

Touches: headless Chromium, the served product with its demo model.
"""

import json

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import send
from tests.support.served import Served

TRIP = "Two nights in Xi'an from October 1. Check that day's weather first; if it rains book a suite, otherwise a standard room."


def running(page: Page) -> None:
    """A turn at work: two steps are done, the third waits for an approval."""
    send(page, TRIP)
    expect(page.get_by_text("2 of 3 done")).to_be_visible()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()


def editing(page: Page) -> None:
    page.get_by_role("button", name="Edit plan").click()
    expect(page.get_by_role("button", name="Done editing")).to_be_visible()


def reached(page: Page, target: Locator, *, key: str = "Tab") -> Locator:
    """Walk there with the keyboard, as a person without a mouse does."""
    expect(target.first).to_be_visible()
    for _press in range(90):
        if target.count() and target.first.evaluate("item => item === document.activeElement"):
            return target
        page.keyboard.press(key)
    raise AssertionError(f"{target} cannot be reached by {key}; the focus is on {focus(page)}")


def focus(page: Page) -> str:
    return str(page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))


def booked(served: Served) -> int:
    return sum(len(json.loads(path.read_text())) for path in (served.folder / "data" / "files").glob("*/bookings.json"))


def test_a_step_added_while_the_turn_runs_is_carried_out_and_shown_as_a_change(page: Page) -> None:
    running(page)
    editing(page)
    expect(page.get_by_role("textbox", name="Step 1")).to_have_count(0)  # what is done stays as it is
    page.get_by_label("Add a step").fill("Look at the clock")
    page.get_by_label("Tool", exact=True).select_option("now")
    page.locator(".pn-form--add").get_by_role("button", name="Add").click()
    expect(page.get_by_text("Revision 2 · 2 of 4 done")).to_be_visible()
    page.get_by_role("button", name="Done editing").click()
    page.get_by_text("Changed from revision 1").click()
    diff = page.locator("#plan-revisions")
    expect(diff.get_by_text("Added")).to_be_visible()
    expect(diff.get_by_text("Look at the clock")).to_be_visible()
    expect(diff.get_by_text("3 steps kept")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Revision 2 · 4 of 4 done")).to_be_visible()


def test_a_second_tab_is_told_that_it_is_stale_keeps_its_words_and_changes_nothing(page: Page) -> None:
    running(page)
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        editing(tab)
    other.get_by_role("textbox", name="Step 3").fill("my half-typed words")
    page.get_by_label("Add a step").fill("Look at the clock")
    page.get_by_label("Tool", exact=True).select_option("now")
    page.locator(".pn-form--add").get_by_role("button", name="Add").click()
    expect(page.get_by_text("Revision 2")).to_be_visible()
    expect(other.get_by_text("Something changed while you were editing.")).to_be_visible()
    expect(other.get_by_role("textbox", name="Step 3")).to_have_value("my half-typed words")
    other.get_by_role("button", name="Save", exact=True).first.click()
    expect(other.get_by_text("Not changed: the plan is at revision 2 by now.")).to_be_visible()
    expect(other.get_by_role("textbox", name="Step 4")).to_have_value("Look at the clock")
    expect(page.get_by_role("textbox", name="Step 3")).to_have_value("Book the room")
    # The words are still there, and from the newest revision they are taken; the first tab sees them.
    expect(other.get_by_role("textbox", name="Step 3")).to_have_value("my half-typed words")
    other.get_by_role("button", name="Save", exact=True).first.click()
    expect(other.get_by_text("Revision 3")).to_be_visible()
    page.get_by_role("button", name="Done editing").click()
    expect(page.locator("#panel-plan").get_by_text("my half-typed words").first).to_be_visible()


def test_a_running_step_that_is_taken_out_is_not_carried_out(page: Page, served: Served) -> None:
    before = booked(served)
    running(page)
    editing(page)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("Revision 2")).to_be_visible()
    page.get_by_role("button", name="Done editing").click()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    expect(page.get_by_text("2 of 2 done")).to_be_visible()
    expect(page.locator("main").get_by_text("Withdrawn")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()  # the turn has ended
    assert booked(served) == before


def test_another_goal_is_planned_for_as_soon_as_what_waits_is_settled(page: Page) -> None:
    running(page)
    editing(page)
    page.get_by_role("textbox", name="Goal").fill("Work out 17 * 23")
    page.get_by_role("button", name="Change goal").click()
    expect(page.get_by_text("Revision 2")).to_be_visible()
    page.get_by_role("button", name="Done editing").click()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("Revision 3 · 4 of 4 done")).to_be_visible()  # what was done stays
    expect(page.locator("main").get_by_text("391").first).to_be_visible()


def test_a_plan_is_shown_first_approved_and_then_goes_on(page: Page, served: Served) -> None:
    before = booked(served)
    page.get_by_label("Show me the plan before you start").check()
    send(page, TRIP)
    expect(page.get_by_text("Start with this plan?")).to_be_visible()
    expect(page.get_by_text("0 of 3 done")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Start with this plan?")).to_be_visible()
    expect(page.get_by_label("Show me the plan before you start")).to_be_checked()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("2 of 3 done")).to_be_visible()
    expect(page.get_by_text("Start with this plan?")).to_have_count(0)
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("3 of 3 done")).to_be_visible()
    assert booked(served) == before + 1


def test_a_plan_that_is_not_wanted_is_sent_back_with_words(page: Page, served: Served) -> None:
    before = booked(served)
    page.get_by_label("Show me the plan before you start").check()
    send(page, TRIP)
    page.get_by_role("button", name="Ask for changes").click()
    page.get_by_label("What should change").fill("Do not book anything yet")
    page.get_by_role("button", name="Ask for changes").click()
    expect(page.locator("main").get_by_text("Do not book anything yet").first).to_be_visible()
    expect(page.get_by_text("Revision 2 · 0 of 3 done")).to_be_visible()
    expect(page.get_by_text("Start with this plan?")).to_be_visible()  # the new one is shown first, too
    assert booked(served) == before


def test_everything_is_done_by_keyboard_alone(page: Page, served: Served) -> None:
    before = booked(served)
    page.locator("body").press("Escape")
    reached(page, page.get_by_label("Show me the plan before you start")).press("Space")
    expect(page.get_by_label("Show me the plan before you start")).to_be_checked()
    reached(page, page.get_by_role("textbox", name="Message"), key="Shift+Tab")
    page.keyboard.type(TRIP)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Start with this plan?")).to_be_visible()
    # Reword, reorder and skip, each with the focus where the person left it.
    reached(page, page.get_by_role("button", name="Edit plan")).press("Enter")
    reached(page, page.get_by_role("textbox", name="Step 3"))
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Book the quiet room")
    reached(page, page.locator("button[name=op][value=reword]").nth(2)).press("Enter")
    expect(page.get_by_text("Revision 2")).to_be_visible()
    reached(page, page.get_by_role("button", name="Move step 2 down"), key="Shift+Tab").press("Enter")
    expect(page.get_by_text("Revision 3")).to_be_visible()
    expect(page.get_by_role("textbox", name="Step 2")).to_have_value("Book the quiet room")
    reached(page, page.get_by_role("button", name="Move step 3 up")).press("Enter")
    expect(page.get_by_text("Revision 4")).to_be_visible()
    expect(page.get_by_role("textbox", name="Step 3")).to_have_value("Book the quiet room")
    reached(page, page.get_by_role("button", name="Done editing"), key="Shift+Tab").press("Enter")
    reached(page, page.locator("#plan-question").get_by_role("button", name="Approve", exact=True)).press("Enter")
    expect(page.get_by_text("2 of 3 done")).to_be_visible()
    card = page.locator("article.ap-card--asked").get_by_role("button", name="Approve", exact=True)
    expect(card).to_be_visible()
    reached(page, card).press("Enter")
    expect(page.get_by_text("3 of 3 done")).to_be_visible()
    assert booked(served) == before + 1
    reached(page, page.get_by_text("Changed from revision 3")).press("Enter")
    expect(page.locator("#plan-revisions").get_by_text("Moved").first).to_be_visible()
    reached(page, page.get_by_text("Keep as template")).press("Enter")
    reached(page, page.locator("#panel-plan").get_by_label("Name"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Kept as")).to_be_visible()

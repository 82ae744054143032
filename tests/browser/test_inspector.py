"""The inspector in the browser: live edits in two tabs, plan approval, everything by keyboard, memory in place.

Touches: headless Chromium, the served product with its demo model.
"""

from playwright.sync_api import Page, expect

from tests.browser.conftest import send

TRIP = "Two nights in Xi'an from October 1. Check that day's weather first; if it rains book a suite, otherwise a standard room."


def planned(page: Page) -> None:
    """A plan that waits for the person."""
    page.get_by_label("Show me the plan before you start").check()
    send(page, TRIP)
    expect(page.get_by_text("Start with this plan?")).to_be_visible()


def test_the_tabs_are_worked_by_arrow_keys_and_the_chosen_one_stays(page: Page) -> None:
    page.get_by_role("tab", name="Plan").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="State")).to_be_focused()
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Trace", selected=True)).to_be_focused()
    expect(page.get_by_text("Every iteration of the agent appears here")).to_be_visible()
    page.reload()
    expect(page.get_by_role("tab", name="Trace", selected=True)).to_be_visible()
    expect(page.get_by_text("Every iteration of the agent appears here")).to_be_visible()


def test_a_plan_is_reordered_and_approved_by_keyboard_alone(page: Page) -> None:
    planned(page)
    page.get_by_role("button", name="Edit plan").press("Enter")
    box = page.get_by_role("textbox", name="Step 3")
    expect(box).to_have_value("Book the room")
    box.press("Alt+ArrowUp")
    expect(page.get_by_role("textbox", name="Step 2")).to_have_value("Book the room")
    expect(page.get_by_role("textbox", name="Step 2")).to_be_focused()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.get_by_role("textbox", name="Step 3")).to_have_value("Book the room")
    page.get_by_role("button", name="Done editing").press("Enter")
    page.get_by_role("button", name="Approve", exact=True).press("Enter")
    expect(page.get_by_text("2 of 3 done")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).press("Enter")
    expect(page.get_by_text("3 of 3 done")).to_be_visible()


def test_a_stale_tab_keeps_its_words_is_told_and_overwrites_nothing(page: Page) -> None:
    planned(page)
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        tab.get_by_role("button", name="Edit plan").click()
    other.get_by_role("textbox", name="Step 2").fill("half-typed words")
    page.get_by_role("textbox", name="Step 3").fill("Book the cheapest room")
    page.get_by_role("button", name="Save", exact=True).nth(2).click()
    expect(page.get_by_text("Revision 2")).to_be_visible()
    expect(other.get_by_text("Something changed while you were editing.")).to_be_visible()
    expect(other.get_by_role("textbox", name="Step 2")).to_have_value("half-typed words")
    other.get_by_role("button", name="Save", exact=True).nth(1).click()
    expect(other.get_by_text("Not changed: the plan is at revision 2 by now.")).to_be_visible()
    expect(other.get_by_role("textbox", name="Step 3")).to_have_value("Book the cheapest room")
    page.get_by_role("button", name="Done editing").click()
    page.get_by_text("Changed from revision 1").click()
    expect(page.get_by_text("2 steps kept")).to_be_visible()


def test_a_hostile_step_is_text_and_runs_nothing(page: Page) -> None:
    planned(page)
    page.get_by_role("button", name="Edit plan").click()
    page.get_by_role("textbox", name="Step 3").fill("<img src=x onerror='window.bad=1'><script>window.bad=1</script>")
    page.get_by_role("button", name="Save", exact=True).nth(2).click()
    expect(page.get_by_text("Revision 2")).to_be_visible()
    page.get_by_role("button", name="Done editing").click()
    expect(page.get_by_text("<script>window.bad=1</script>").first).to_be_visible()
    assert page.evaluate("window.bad") is None


def test_a_memory_is_recalled_corrected_and_forgotten_in_its_panel(page: Page) -> None:
    send(page, "Remember that I prefer quiet rooms on a high floor.")
    expect(page.get_by_text("I will remember").first).to_be_visible()
    page.get_by_role("button", name="New conversation").click()
    send(page, TRIP)
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Memory").click()
    panel = page.locator("#panel-memory")
    expect(panel.get_by_text("I prefer quiet rooms on a high floor")).to_be_visible()
    panel.get_by_role("button", name="Correct").first.click()
    panel.get_by_label("What is right").fill("I prefer quiet rooms near the lift")
    panel.get_by_role("button", name="Save").click()
    panel.get_by_role("searchbox").fill("quiet rooms near the lift")
    panel.get_by_role("searchbox").press("Enter")
    expect(panel.get_by_text("I prefer quiet rooms near the lift").first).to_be_visible()
    panel.get_by_role("button", name="Forget").first.click()
    expect(panel.get_by_text("Forget this?")).to_be_visible()
    panel.get_by_role("button", name="Forget it").click()
    expect(panel.get_by_text("Forgotten.")).to_be_visible()
    expect(panel.get_by_text("near the lift")).to_have_count(0)


def test_an_opened_iteration_shows_what_the_model_saw(page: Page) -> None:
    send(page, TRIP)
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    page.get_by_role("tab", name="Trace").click()
    page.locator("details.pn-iteration > summary").first.click()
    expect(page.get_by_text("What the model saw")).to_be_visible()
    plan = page.locator("details.pn-sectionbox").filter(has=page.get_by_text("plan", exact=True))
    plan.locator("summary").click()
    expect(plan.get_by_text("Difference from iteration 3")).to_be_visible()

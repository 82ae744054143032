"""The main job, done by a person in the browser.

Touches: headless Chromium, the served product with its demo model.
"""

import json
import re

from playwright.sync_api import Browser, BrowserContext, Page, expect

from chat.tools.travel import YEAR
from tests.browser.conftest import send
from tests.support.served import Served

EN = "Two nights in Xi'an from October {day}. Check that day's weather first; if it rains book a suite, otherwise a standard room."
ZH = "西安10月{day}日住两晚。先查当天天气，下雨订suite，否则订standard。"


def bookings(served: Served) -> list[dict[str, object]]:
    """What was really booked, over all conversations of this instance, the newest last."""
    files = sorted((served.folder / "data/files").glob("*/bookings.json"), key=lambda path: path.stat().st_mtime)
    found = [json.loads(path.read_text()) for path in files]
    return [order for orders in found for order in orders.values()]


def test_it_is_planned_checked_asked_booked_once_and_answered(page: Page, served: Served) -> None:
    before = len(bookings(served))
    send(page, EN.format(day=1))
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    expect(page.get_by_text("Waiting for your approval").first).to_be_visible()
    expect(page).to_have_title(re.compile(r"^\(1\)"))
    expect(page.get_by_text("2 of 3 done")).to_be_visible()
    assert len(bookings(served)) == before
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("3 of 3 done")).to_be_visible()
    expect(page.get_by_text(re.compile(r"Order BK-")).first).to_be_visible()
    new = bookings(served)[before:]
    assert len(new) == 1 and new[0]["room"] == "suite" and new[0]["date_from"] == f"{YEAR}-10-01"


def test_a_sunny_day_asks_for_the_standard_room(page: Page) -> None:
    send(page, EN.format(day=2))
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    expect(page.locator("main").get_by_text("Books a standard room for 2 nights")).to_be_visible()


def test_the_same_in_chinese_for_both_dates(page: Page, context: BrowserContext, served: Served) -> None:
    for day, room in ((1, "suite"), (2, "standard room")):
        page.get_by_role("button", name="New conversation").click()
        send(page, ZH.format(day=day))
        expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        expect(page.locator("main").get_by_text(f"Books a {room} for 2 nights")).to_be_visible()


def test_a_rejection_with_a_reason_books_nothing_and_ends_or_asks_honestly(page: Page, served: Served) -> None:
    before = len(bookings(served))
    send(page, EN.format(day=1))
    page.get_by_role("button", name="Reject").first.click()
    page.get_by_role("textbox", name=re.compile("reason|why", re.IGNORECASE)).first.fill("too expensive")
    page.get_by_role("button", name="Reject").last.click()
    expect(page.get_by_text("too expensive").first).to_be_visible()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    assert len(bookings(served)) == before


def test_the_value_edited_in_the_card_is_what_is_booked(page: Page, served: Served) -> None:
    before = len(bookings(served))
    send(page, EN.format(day=1))
    page.get_by_role("button", name="Edit", exact=True).first.click()
    page.get_by_label("Room").select_option("standard")
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("3 of 3 done")).to_be_visible()
    new = bookings(served)[before:]
    assert [order["room"] for order in new] == ["standard"]


def test_two_tabs_and_two_clicks_are_one_booking(page: Page, context: BrowserContext, served: Served) -> None:
    before = len(bookings(served))
    send(page, EN.format(day=1))
    first = page.get_by_role("button", name="Approve", exact=True)
    expect(first).to_be_visible()
    other = context.new_page()
    other.goto(page.url)
    expect(other.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    first.click()
    # The same decision from the other tab, as a saved request would make it.
    decide = other.locator("form[hx-post*=decide]").first
    if decide.count():
        decide.evaluate("form => form.requestSubmit(form.querySelector('button[value=approve]'))")
    for tab in (page, other):
        expect(tab.get_by_text("3 of 3 done")).to_be_visible()
    assert len(bookings(served)) == before + 1


def test_a_reload_shows_the_same_state(page: Page) -> None:
    send(page, EN.format(day=1))
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(1)
    expect(page.get_by_text("2 of 3 done")).to_be_visible()
    expect(page.get_by_text("Two nights in Xi'an from October 1.", exact=False).first).to_be_visible()


def test_a_card_survives_a_restart_of_the_server(page: Page, served: Served) -> None:
    before = len(bookings(served))
    send(page, EN.format(day=1))
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    served.restart()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("3 of 3 done")).to_be_visible(timeout=60_000)
    assert len(bookings(served)) == before + 1


def test_a_stranger_gets_nothing_of_it(page: Page, browser: Browser, served: Served) -> None:
    send(page, "hello")
    expect(page.get_by_text("demo model").first).to_be_visible()
    stranger = browser.new_context()
    tab = stranger.new_page()
    tab.goto(served.links()[1])
    answer = tab.goto(page.url)
    assert answer is not None and answer.status == 404
    stranger.close()


def test_while_a_reason_is_written_nothing_can_be_approved_and_no_refresh_takes_it_away(page: Page) -> None:
    send(page, EN.format(day=1))
    page.get_by_role("button", name="Reject").click()
    reason = page.get_by_role("textbox", name="Reason")
    reason.fill("too expensive")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    turn = page.locator("article.turn").last
    with page.expect_response(lambda answer: f"/{turn.get_attribute('data-turn')}" in answer.url):
        turn.evaluate("turn => turn.dispatchEvent(new CustomEvent('turn-changed'))")
    expect(reason).to_have_value("too expensive")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Reject")).to_be_focused()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()


def test_the_keyboard_stays_in_the_card_that_is_edited_and_approved(page: Page) -> None:
    send(page, EN.format(day=1))
    page.get_by_role("button", name="Edit", exact=True).press("Enter")
    expect(page.locator(".ap-edit :is(input, select, textarea)").locator("visible=true").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_focused()
    page.get_by_role("button", name="Approve", exact=True).press("Enter")
    expect(page.locator(".ap-decided")).to_be_focused()

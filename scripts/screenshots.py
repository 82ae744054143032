"""Take the pictures of the documentation, on the real product with its demo model.

nothing -> docs/img/*.png.  Touches: a served instance with a data directory of its own, headless Chromium.

`make pictures` runs it.
"""

import re
import shutil
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.served import Served

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "img"
TASK = "Two nights in Xi'an from October 1. Check that day's weather first; if it rains book a suite, otherwise a standard room."
ZH = "西安10月1日住两晚。先查当天天气，下雨订suite，否则订standard。"
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 400, "height": 860}


def ask(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send").click()


def shoot(page: Page, name: str) -> None:
    page.screenshot(path=IMAGES / f"{name}.png")


def waiting(page: Page) -> None:
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()


def again(context: BrowserContext, browser: Browser, served: Served, url: str, **options: object) -> Page:
    """The same conversation as somebody else would have it on their screen."""
    other = browser.new_context(storage_state=context.storage_state(), **options)  # type: ignore[arg-type]
    page = other.new_page()
    page.goto(url)
    waiting(page)
    page.wait_for_load_state("networkidle")
    return page


def take(browser: Browser, served: Served) -> None:
    context = browser.new_context(viewport=WIDE, locale="en-GB")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(served.links()[0])
    ask(page, "Remember: I prefer quiet rooms on a high floor.")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.get_by_text(re.compile("Finished|Answered", re.IGNORECASE)).first).to_be_visible()
    page.get_by_role("button", name="New conversation").click()
    ask(page, ZH)
    waiting(page)
    page.get_by_role("button", name="New conversation").click()
    ask(page, TASK)
    waiting(page)
    page.wait_for_load_state("networkidle")
    shoot(page, "page")
    page.locator(".ap-card").first.screenshot(path=IMAGES / "approval.png")
    for tab in ("State", "Memory", "Trace"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)
        shoot(page, tab.lower())
    url = page.url
    shoot(again(context, browser, served, url, viewport=WIDE, color_scheme="dark"), "dark")
    shoot(again(context, browser, served, url, viewport=NARROW), "narrow")
    staff = browser.new_context(viewport=WIDE).new_page()  # type: ignore[arg-type]
    staff.goto(served.links()[1])
    staff.goto(f"{served.base}/admin/chat/toolcall/")
    staff.wait_for_load_state("networkidle")
    shoot(staff, "admin")


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    served = Served(AGENT_EMBEDDER="use")
    expect.set_options(timeout=30_000)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            take(browser, served)
    finally:
        served.stop()


if __name__ == "__main__":
    main()

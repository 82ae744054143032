"""Headless Chromium on the real product.

Touches: a served instance per module, a fresh browser context per test.
"""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.served import Served, serving

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
ARGS += ["--disable-component-update", "--disable-sync"]
# Playwright's own loop runs in this thread; Django must not take it for an async view.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
expect.set_options(timeout=60_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "The browser tests need Chromium: run scripts/test-services.sh, or install it by hand."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    yield from serving()


@pytest.fixture(scope="module")
def cookies(served: Served, browser: Browser) -> list[dict[str, object]]:
    """Signed in as the person, through the one-time link."""
    context = browser.new_context()
    context.new_page().goto(served.links()[0])
    found = context.cookies()
    context.close()
    return [dict(cookie) for cookie in found]


@pytest.fixture
def context(browser: Browser, cookies: list[dict[str, object]]) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    context.add_cookies(cookies)  # type: ignore[arg-type]
    context.set_default_timeout(60_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, served: Served) -> Page:
    """A new conversation, open; anything the console complains of fails the test that asks `faults`."""
    page = context.new_page()
    page.goto(served.base)
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("textbox", name="Message").wait_for()
    return page


def send(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send").click()

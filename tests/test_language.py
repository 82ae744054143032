"""The Chinese catalogue: nearly everything is in it, and no translation loses a value.

Touches: the compiled catalogue, the source, the templates (reads).
"""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chat.tools import registry
from tests.chat.test_approval_views import ask

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "agentweb/locale/zh_Hans/LC_MESSAGES/django.mo"
MISSING = 0.1  # what may be untranslated for a while; it is shown in English
TAGS = re.compile(r"""{%\s*translate\s+(?:"([^"]+)"|'([^']+)')""")
PLACES = re.compile(r"%\(\w+\)(?:\.\d+)?[sdf]|{\w+}")
COUNT = {"%(n)d", "%(n)s"}  # stands in one of the two English forms only


def catalogue() -> dict[str, str]:
    with CATALOGUE.open("rb") as file:
        found = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    return {key[0] if isinstance(key, tuple) else key: text for key, text in found.items() if key}


def said() -> Iterator[str]:
    """What is wrapped for translation in the code and, without blocks, in the templates."""
    for room in ("agentweb", "chat", "memory", "planning"):
        for path in (ROOT / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                    continue
                first = node.args[0]
                if node.func.id in {"_", "gettext", "ngettext", "gettext_lazy"} and isinstance(first, ast.Constant):
                    yield str(first.value)
    for path in (ROOT / "templates").rglob("*.html"):
        yield from (one or two for one, two in TAGS.findall(path.read_text()))


def test_the_interface_is_translated() -> None:
    words, known = set(said()), catalogue()
    missing = sorted(words - known.keys() - {""})
    assert len(words) > 300
    assert len(missing) <= MISSING * len(words), missing


def test_no_translation_loses_or_invents_a_value() -> None:
    wrong = [
        (text, translated)
        for text, translated in catalogue().items()
        if (set(PLACES.findall(text)) ^ set(PLACES.findall(translated))) - COUNT
    ]
    assert not wrong


@pytest.mark.django_db
def test_a_chinese_browser_gets_a_chinese_page(client: Client, alice: User) -> None:
    client.force_login(alice)
    page = client.get(reverse("start"), headers={"accept-language": "zh-CN,zh;q=0.9"}, follow=True)
    text = page.content.decode()
    assert 'lang="zh-hans"' in text and "新对话" in text and "New conversation" not in text
    english = client.get(reverse("start"), headers={"accept-language": "en"}, follow=True).content.decode()
    assert "New conversation" in english


@pytest.mark.django_db
def test_what_an_action_does_is_said_in_the_persons_language(client: Client, alice: User) -> None:
    client.force_login(alice)
    url = reverse("approval", args=[ask(alice).pk])
    html = client.get(url, headers={"accept-language": "zh-hans"}).content.decode()
    for words in ("预订套房 2 晚", "入住日期", "写入"):
        assert words in html
    assert "Books a" not in html and "Book one room" in registry.business()["book_hotel"].purpose
    assert "Books a suite for 2 nights" in client.get(url, headers={"accept-language": "en"}).content.decode()

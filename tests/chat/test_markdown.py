"""Markdown from anywhere becomes HTML that does nothing but show text.

hostile text -> markup.  Touches: nothing (pure).
"""

import re
from html import unescape

import pytest

from chat.markdown import LONGEST, render

HOSTILE = [
    "<script>window.hit = 1</script>",
    "<img src=x onerror=alert(1)>",
    '<div hx-get="/logout/" hx-trigger="load">x</div>',
    '<div id="turns" hx-swap-oob="true">gone</div>',
    "<hx-partial hx-target='#turns'>gone</hx-partial>",
    "<template hx type='partial'>gone</template>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox)",
    "<javascript:alert(1)>",
    '[x](https://e.example/"onmouseover="alert(1))',
    '[x](https://e.example "onmouseover=alert(1)")',
    "![x](https://e.example/pixel.png)",
    '![x"onerror="alert(1)](https://e.example/p.png)',
    '![x](https://e.example/p.png "\\"onerror=\\"alert(1)")',
    "`<script>alert(1)</script>`",
    "```html\n<script>alert(1)</script>",
    '```"><script>alert(1)</script>\nx\n```',
    "| a |\n|---|\n| <b onclick=alert(1)>x</b> |",
    "<style>*{display:none}</style>",
    "<iframe src='https://e.example'></iframe>",
    "<form action='/c/x/delete/' method=post><button>x</button></form>",
    "<svg onload=alert(1)>",
    "<!-- --><base href='https://e.example/'>",
    "[x][r]\n\n[r]: javascript:alert(1)",
    "# <img src=x onerror=alert(1)>",
]
ALLOWED_TAG = re.compile(r"</?(p|br|hr|h[3-6]|strong|em|s|code|pre|blockquote|ul|ol|li|a|table|thead|tbody|tr|th|td)\b")
ALLOWED_ATTRIBUTES = {"href", "title", "rel", "target", "start", "tabindex"}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_leaves_no_tag_attribute_or_address_that_acts(text: str) -> None:
    html = render(text)
    tags = re.findall(r"<[^>]*>", html)
    assert all(ALLOWED_TAG.match(tag) for tag in tags), html
    names = {name for tag in tags for name in re.findall(r'\s([\w-]+)="', tag)}
    assert names <= ALLOWED_ATTRIBUTES, html
    assert all(url.startswith(("https://", "http://", "mailto:")) for url in re.findall(r'href="([^"]*)"', html)), html


def test_an_image_becomes_a_link_and_is_never_fetched() -> None:
    html = render("![a chart](https://e.example/chart.png?secret=1)")
    assert "<img" not in html
    assert 'href="https://e.example/chart.png?secret=1"' in html and ">a chart</a>" in html


def test_a_link_shows_where_it_leads_whatever_its_own_title_says() -> None:
    html = render('[bank](https://evil.example/x "https://bank.example")')
    assert 'title="https://evil.example/x"' in html
    assert "bank.example" not in html
    assert 'rel="noopener noreferrer nofollow"' in html and 'target="_blank"' in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[Click here](https://e.example/?q=my%20secret)", "Click here (https://e.example/?q=my%20secret)"),
        ("[bank.example](https://evil.example/)", "bank.example (https://evil.example/)"),
        ("![a chart](https://e.example/x.png?q=1)", "a chart (https://e.example/x.png?q=1)"),
        ("**[bold](https://e.example/)**", "bold (https://e.example/)"),
        ("[![i](https://a.example/i.png)](https://b.example/)", "i (https://a.example/i.png) (https://b.example/)"),
        ("[https://e.example/a](https://e.example/a)", "https://e.example/a"),
        ("see https://e.example/a", "see https://e.example/a"),
        ("[e.example](https://e.example/)", "e.example"),
        ("https://e.example/路", "https://e.example/路"),
        ("[write](mailto:a@b.example)", "write (mailto:a@b.example)"),
    ],
)
def test_an_address_that_is_not_the_words_of_its_link_stands_behind_it(text: str, shown: str) -> None:
    assert unescape(re.sub(r"<[^>]+>", "", render(text))).strip() == shown


def test_a_link_into_the_product_itself_leads_nowhere() -> None:
    assert "href" not in render("[x](/logout/) [y](?q=1) [z](//evil.example/)")


def test_a_bare_address_becomes_a_link() -> None:
    assert '<a href="https://e.example/a?b=1&amp;c=2"' in render("see https://e.example/a?b=1&c=2 there")


def test_an_unclosed_fence_stays_inside_its_own_block() -> None:
    html = render("before\n\n```python\nprint('hi')\n")
    assert html.count("<pre") == html.count("</pre>") == 1


def test_a_table_cut_in_the_middle_still_closes() -> None:
    html = render("| a | b |\n|---|---|\n| 1 |")
    assert html.count("<table") == html.count("</table>") == 1


def test_deep_quotes_close_as_often_as_they_open() -> None:
    html = render("> " * 50 + "deep")
    assert "deep" in html and html.count("<blockquote>") == html.count("</blockquote>") == 50


def test_template_syntax_is_text() -> None:
    assert "{{ 7*7 }} {% csrf_token %}" in render("{{ 7*7 }} {% csrf_token %}")


def test_headings_of_an_answer_stand_below_those_of_the_page_without_a_gap() -> None:
    assert render("## One\n\n###### Two") == "<h3>One</h3>\n<h4>Two</h4>\n"


def test_chinese_and_right_to_left_text_come_through() -> None:
    assert "<strong>下雨</strong>" in render("**下雨**，مرحبا")


def test_text_too_long_to_format_is_shown_as_it_is() -> None:
    html = render("[" * (LONGEST + 1))
    assert html.startswith("<pre>[[") and "<a" not in html


def test_very_long_text_is_still_escaped() -> None:
    assert "<script" not in render("<script>alert(1)</script>" * 2000)

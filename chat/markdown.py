"""Turn a model's Markdown into HTML that is safe to show.

text -> HTML.  Touches: nothing (pure).

Whatever a model, a tool or a page wrote may end up here, so two gates stand one behind the other: the parser
knows no raw HTML, and the sanitizer drops every tag, attribute and address that is not on its list.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

# Beyond this, text is shown as it is: nobody reads it as a formatted page, and parsing it costs seconds.
LONGEST = 20_000

# No images: fetching one tells a stranger's server who reads what, and its address can carry the conversation.
TEXT = {"p", "br", "hr", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "pre", "blockquote", "a"}
TAGS = TEXT | {"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}


def render(text: str) -> SafeString:
    """Render Markdown; raw HTML in it is shown as text."""
    if len(text) > LONGEST:
        return mark_safe(f"<pre>{escape(text)}</pre>")
    return mark_safe(_clean(_parser().render(text)))


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        # A relative link would lead into this very product, at an address the model chose.
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}, "pre": {"tabindex": "0"}},
    )


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": False, "linkify": True, "typographer": False})
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    parser.core.ruler.push("below_the_page", _below_the_page)
    parser.core.ruler.push("in_full", _in_full)
    return parser


def _image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """An image becomes a link that names it: the person decides whether to fetch it."""
    token = tokens[index]
    address = escape(str(token.attrs.get("src", "")))
    return f'<a href="{address}" title="{address}">{escape(token.content) or address}</a>'


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Show on hover where a link really leads, whatever its text and its own title say."""
    token = tokens[index]
    token.attrSet("title", str(token.attrs.get("href", "")))
    return renderer.renderToken(tokens, index, options, env)


def _in_full(state: StateCore) -> None:
    """Behind a link whose words are not its address stands the address: what it would tell a stranger is seen before a click."""
    for inline in state.tokens:
        if inline.children:
            inline.children = list(_with_addresses(inline.children))


def _with_addresses(tokens: Sequence[Token]) -> Iterator[Token]:
    address, words = "", ""
    for token in tokens:
        if token.type == "link_open":
            address, words = str(token.attrs.get("href", "")), ""
        elif address and token.type != "link_close":
            words += token.content
        yield token
        if token.type == "image":
            yield _said(str(token.attrs.get("src", "")))
        elif token.type == "link_close" and address:
            if _bare(words) != _bare(address):
                yield _said(address)
            address = ""


def _said(address: str) -> Token:
    return Token("text", "", 0, content=f" ({address})")


def _bare(address: str) -> str:
    """As a person reads it: without scheme, and with the characters that an address must write as codes."""
    return unquote(re.sub(r"^(https?://|mailto:)", "", address.strip().casefold())).rstrip("/")


def _below_the_page(state: StateCore) -> None:
    """Headings of an answer stand below those of the page, without a gap: its highest is h3, the next h4."""
    headings = [token for token in state.tokens if token.type in {"heading_open", "heading_close"}]
    used = sorted({token.tag for token in headings})
    for token in headings:
        token.tag = f"h{min(used.index(token.tag) + 3, 6)}"

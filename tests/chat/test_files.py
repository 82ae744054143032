"""A conversation's files on the page: listed, downloaded by their owner, and never run.

Touches: rows; the folder of a conversation.
"""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chat import conversations
from chat.mcp import answers
from chat.models import Conversation
from chat.tools import files

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation(alice: User) -> Conversation:
    found = conversations.create(alice)
    folder = files.folder(found.id)
    (folder / "shop").mkdir(parents=True)
    (folder / "page.html").write_text("<script>alert(1)</script>")
    (folder / "shop" / "报告.txt").write_text("text")
    (folder / ".draft").write_text("half")
    (folder.parent / "outside.txt").write_text("secret")
    (folder / "link.txt").symlink_to(folder.parent / "outside.txt")
    return found


def get(user: User, conversation: Conversation, path: str) -> tuple[int, bytes, dict[str, str]]:
    client = Client()
    client.force_login(user)
    response = client.get(f"/c/{conversation.id}/files/{path}")
    body = response.content if response.status_code == 200 else b""
    return response.status_code, body, dict(response.headers)


def test_a_file_is_downloaded_and_never_shown_as_a_page(alice: User, conversation: Conversation) -> None:
    status, body, headers = get(alice, conversation, "page.html")
    assert (status, body) == (200, b"<script>alert(1)</script>")
    assert headers["Content-Type"] == "application/octet-stream" and headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Disposition"].startswith("attachment")
    assert get(alice, conversation, "shop/报告.txt")[1] == b"text"


@pytest.mark.parametrize(
    "path",
    ["../outside.txt", "..%2Foutside.txt", "link.txt", ".draft", "shop", "none.txt", "/etc/passwd", "a%00b", "x" * 300],
)
def test_nothing_else_is_given(alice: User, conversation: Conversation, path: str) -> None:
    assert get(alice, conversation, path)[0] in {404, 301}


def test_another_person_gets_404(bob: User, conversation: Conversation) -> None:
    assert get(bob, conversation, "page.html")[0] == 404


def test_the_state_panel_lists_them(alice: User, conversation: Conversation) -> None:
    client = Client()
    client.force_login(alice)
    html = client.get(reverse("panel", args=[conversation.id, "state"])).content.decode()
    assert reverse("file", args=[conversation.id, "page.html"]) in html and "报告.txt" in html
    assert ".draft" not in html and "link.txt" not in html


def test_what_a_tool_returned_is_kept_within_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.keep(tmp_path, "a/b.png", b"x") and (tmp_path / "a" / "b.png").read_bytes() == b"x"
    assert not files.keep(tmp_path, "large.bin", b"x" * (files.MAX_KEPT + 1))
    monkeypatch.setattr(files, "MAX_FILES", 1)
    assert files.keep(tmp_path, "a/b.png", b"y") and not files.keep(tmp_path, "other.png", b"y")


class Image:
    type = "image"

    def __init__(self, kind: str, data: str) -> None:
        self.mime_type, self.data = kind, data


def test_a_picture_gets_a_name_that_no_server_chose() -> None:
    found = answers.read(
        [Image("image/png", "aGVsbG8="), Image("../../x", "aGVsbG8="), Image("image/png", "%%")], None, error=False
    )
    assert [file.name for file in found.files] == ["2cf24dba5fb0.png", "2cf24dba5fb0.bin"]
    assert "it cannot be read" in found.text and "aGVsbG8" not in found.text


def test_an_answer_of_many_pictures_keeps_some() -> None:
    found = answers.read([Image("image/png", "aGVsbG8=")] * 50, None, error=False)
    assert len(found.files) == answers.FILES and "left out" in found.text

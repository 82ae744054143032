"""Documents: read apart, cut at headings and pages, found with a citation that opens at the place, deleted whole.

files -> passages.  Touches: rows, the index, a child process.
"""

import io
from pathlib import Path
from typing import Any

import docx
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from chat.models import Conversation
from memory import documents, index, outbox, reading
from memory.chunking import CJK, LATIN, cut
from memory.errors import DocumentRefused
from memory.models import Chunk, Document, IndexRemoval

MARKDOWN = b"# Manual\n\nWelcome.\n\n## Boiler\n\nThe boiler needs 1.5 bar of pressure.\n\n```\n# no heading\n```\n\n## Roof\n\nThe roof leaks in May.\n"


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page, as small as one can be."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {len(objects)} 0 R "
            "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    body, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{item}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>\n"
    )
    return body + f"{end}startxref\n{len(body)}\n%%EOF".encode()


def word() -> bytes:
    made = docx.Document()
    made.add_heading("Lease", 1)
    made.add_paragraph("The lease runs until February 2027.")
    made.add_heading("Deposit", 2)
    made.add_paragraph("The deposit is 2400 euros.")
    made.add_page_break()  # type: ignore[no-untyped-call]
    made.add_paragraph("Keys: three.")
    table = made.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Door", "Blue"
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def give(user: Any, name: str, data: bytes, conversation: Conversation | None = None) -> Document:
    document, _known = documents.begin(user.id, name, data, conversation.id if conversation else None)
    return documents.finish(user.id, document.id, reading.read(document.media_type, data))


def test_a_pdf_is_read_apart_page_by_page() -> None:
    found = reading.read_apart("pdf", pdf("The boiler needs water.", "The roof leaks."))
    assert [(item.page, item.text) for item in found] == [(1, "The boiler needs water."), (2, "The roof leaks.")]


def test_a_word_file_keeps_headings_pages_and_tables() -> None:
    found = [(item.heading, item.page, item.text) for item in reading.read("docx", word())]
    assert found == [
        ("Lease", 1, "The lease runs until February 2027."),
        ("Lease › Deposit", 1, "The deposit is 2400 euros."),
        ("Lease › Deposit", 2, "Keys: three.\nDoor | Blue"),
    ]


def test_markdown_is_cut_at_headings_and_not_in_code() -> None:
    found = [(item.heading, item.text.split("\n")[0]) for item in reading.read("markdown", MARKDOWN)]
    assert found == [
        ("Manual", "Welcome."),
        ("Manual › Boiler", "The boiler needs 1.5 bar of pressure."),
        ("Manual › Roof", "The roof leaks in May."),
    ]


def test_of_a_web_page_the_article_is_read_and_no_script() -> None:
    text = "The boiler needs a pressure of 1.5 bar, and should be checked by a plumber every year in autumn. " * 4
    page = f"<html><body><nav>Home</nav><article><h1>Heating</h1><p>{text}</p></article><script>evil()</script></body></html>"
    found = " ".join(item.text for item in reading.read("html", page.encode()))
    assert "1.5 bar" in found
    assert "evil" not in found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_text_is_read_in_the_encoding_it_has(encoding: str) -> None:
    text = "锅炉的压力应为一点五巴。屋顶在五月漏水，需要尽快修理。请联系物业公司安排工人上门检查。" * 3
    assert reading.read("text", text.encode(encoding))[0].text == text


@pytest.mark.parametrize(
    ("name", "data", "word_of_reason"),
    [
        ("a.pdf", b"%PDF-1.4 garbage", "damaged"),
        ("a.pdf", b"no pdf", "PDF"),
        ("a.docx", b"PK\x03\x04 broken", "damaged"),
        ("a.zip", b"PK\x03\x04", "archive"),
        ("a.exe", b"MZ\x00\x00\x00", "cannot be read"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, data: bytes, word_of_reason: str) -> None:
    with pytest.raises(reading.Unreadable, match=word_of_reason):
        reading.read_apart(reading.kind_of(name, data), data)


def test_a_word_file_that_unpacks_without_end_is_refused() -> None:
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * (reading.MOST_UNPACKED + 1))
    with pytest.raises(reading.Unreadable, match="unpacks"):
        reading.read_apart("docx", out.getvalue())


def test_passages_end_with_sentences_and_are_bounded() -> None:
    for most, text in ((LATIN, "This is a sentence of some length. " * 200), (CJK, "这是一个有一定长度的句子。" * 200)):
        cuts = cut([reading.Section(heading="H", page=1, text=text)])
        assert all(len(item.text) <= most * 1.3 for item in cuts)
        assert all(item.text[-1] in ".。" for item in cuts)
        assert "".join(item.text for item in cuts).replace("\n", "").replace(" ", "") == text.replace(" ", "")


def test_an_endless_line_is_cut_all_the_same() -> None:
    cuts = cut([reading.Section(heading="", page=None, text="x" * 10_000)])
    assert max(len(item.text) for item in cuts) <= LATIN * 1.3


@pytest.mark.django_db
def test_a_passage_is_found_with_a_citation_that_opens_at_the_place(alice: Any, client: Client) -> None:
    give(alice, "house.md", MARKDOWN)
    (best, *_rest) = documents.find(alice.id, "what pressure does the boiler need?").passages
    assert best.place == "house.md, Manual › Boiler"
    assert "1.5 bar" in best.text
    client.force_login(alice)
    page = client.get(best.link.split("#")[0])
    assert f'id="{best.link.split("#")[1]}"' in page.content.decode()


@pytest.mark.django_db
def test_found_by_words_at_once_and_by_vectors_after_a_round(alice: Any) -> None:
    give(alice, "house.md", MARKDOWN)
    assert documents.of(alice.id)[0].embedded == 0
    assert documents.find(alice.id, "roof leaks").passages
    outbox.drain_all()
    assert documents.of(alice.id)[0].embedded == 3
    assert documents.find(alice.id, "roof leaks").passages[0].heading == "Manual › Roof"
    assert index.index().counts() == {"doc-hashed-3": 3}


@pytest.mark.django_db
def test_a_conversations_document_is_found_there_alone(alice: Any) -> None:
    here, there = (Conversation.objects.create(user=alice) for _ in range(2))
    give(alice, "here.md", MARKDOWN, here)
    assert documents.find(alice.id, "boiler", conversation_id=here.id).passages
    assert documents.find(alice.id, "boiler", conversation_id=there.id).passages == ()
    assert documents.find(alice.id, "boiler").passages == ()


@pytest.mark.django_db
def test_bob_finds_and_opens_nothing_of_alice(alice: Any, bob: Any, client: Client) -> None:
    document = give(alice, "house.md", MARKDOWN)
    give(bob, "bob.md", b"# Bob\n\nBob sails.")
    assert [item.document for item in documents.find(bob.id, "Bob sails", limit=10).passages] == ["bob.md"]
    client.force_login(bob)
    assert client.get(reverse("document", args=[document.id])).status_code == 404
    assert client.post(reverse("document-delete", args=[document.id])).status_code == 404
    assert not documents.delete(bob.id, document.id)
    assert Chunk.objects.filter(user=alice).count() == 3


@pytest.mark.django_db
def test_deleting_a_document_takes_its_passages_and_vectors(alice: Any, settings: Any) -> None:
    document = give(alice, "house.md", MARKDOWN)
    give(alice, "other.md", b"# Garden\n\nThe garden has roses.")
    outbox.drain_all()
    assert documents.delete(alice.id, document.id)
    assert documents.find(alice.id, "boiler").passages == ()
    outbox.drain_all()
    assert not IndexRemoval.objects.exists()
    assert index.index().counts() == {"doc-hashed-3": 1}
    assert len(list((Path(settings.AGENT_DATA_DIR) / "chroma").glob("g*"))) == 1


@pytest.mark.django_db
def test_deleting_a_conversation_takes_its_documents_out_of_the_index(alice: Any) -> None:
    here = Conversation.objects.create(user=alice)
    give(alice, "house.md", MARKDOWN, here)
    outbox.drain_all()
    here.delete()
    outbox.drain_all()
    assert outbox.drift().in_step
    assert sum(index.index().counts().values()) == 0


@pytest.mark.django_db
def test_the_same_file_twice_is_one_document(alice: Any) -> None:
    give(alice, "house.md", MARKDOWN)
    assert documents.begin(alice.id, "again.md", MARKDOWN)[1]
    assert Document.objects.count() == 1


@pytest.mark.django_db
def test_too_large_and_empty_files_are_refused(alice: Any, settings: Any) -> None:
    settings.AGENT_DOCUMENT_MB = 1
    with pytest.raises(DocumentRefused, match="larger"):
        documents.begin(alice.id, "a.txt", b"x" * 1_000_001)
    with pytest.raises(DocumentRefused, match="empty"):
        documents.begin(alice.id, "a.txt", b"")


@pytest.mark.django_db
def test_a_file_without_text_fails_in_plain_words(alice: Any) -> None:
    assert "no text" in give(alice, "scan.pdf", pdf("")).fault


@pytest.mark.django_db(transaction=True)
def test_a_file_is_uploaded_listed_and_deleted_in_the_browser(alice: Any, bob: Any, client: Client) -> None:
    here = Conversation.objects.create(user=alice)
    page = reverse("documents", args=[here.id])
    assert client.post(page).status_code == 401
    client.force_login(bob)
    assert client.post(page, {"file": SimpleUploadedFile("a.md", MARKDOWN)}).status_code == 404
    client.force_login(alice)
    answer = client.post(page, {"file": SimpleUploadedFile("house.pdf", pdf("The boiler needs water."))})
    assert answer.status_code == 200, answer.content
    assert "house.pdf" in client.get(page).content.decode()
    bad = client.post(page, {"file": SimpleUploadedFile("b.exe", b"MZ\x00\x00")})
    assert (bad.status_code, "cannot be read" in bad.content.decode()) == (422, True)
    document = Document.objects.get()
    assert document.pages == 1
    assert "house.pdf" not in client.post(reverse("document-delete", args=[document.id])).content.decode()
    assert client.get(reverse("my-documents")).status_code == 200

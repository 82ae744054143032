"""Files a person gave: taken in, cut into passages, searched with citations, deleted with all their passages.

file -> Document and Chunks; question -> Passages.  Touches: *writer* of Document and Chunk; records (revision).
"""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from memory import lexical, reading, records, removals, search
from memory.chunking import cut
from memory.embed import embedder
from memory.errors import DocumentRefused, EmbedderDown
from memory.models import Chunk, Document, UserMemory
from memory.rows import of_ids
from memory.text import clean
from memory.types import Found, Passage

MOST_PASSAGES = 20_000  # of one document
READING_FOR = timedelta(minutes=5)  # a reading that takes longer died with its process
Status = Document.Status


def begin(user_id: int, name: str, data: bytes, conversation_id: UUID | str | None = None) -> tuple[Document, bool]:
    """Take a file in before it is read. True: it is there already. Raises DocumentRefused with the reason."""
    most = settings.AGENT_DOCUMENT_MB * 1_000_000
    if not data:
        raise DocumentRefused(_("The file is empty."))
    if len(data) > most:
        raise DocumentRefused(_("The file is larger than %(n)d MB.") % {"n": settings.AGENT_DOCUMENT_MB})
    try:
        kind = reading.kind_of(name, data)
    except reading.Unreadable as fault:
        raise DocumentRefused(str(fault)) from fault
    digest = hashlib.sha256(data).hexdigest()
    with transaction.atomic():
        records.locked(user_id)  # the same file sent twice at once is one document
        _sweep(user_id)
        mine = Document.objects.filter(user_id=user_id, digest=digest)
        mine = mine.filter(conversation_id=conversation_id) if conversation_id else mine.filter(conversation=None)
        if held := mine.exclude(status=Status.FAILED).first():
            return held, True
        mine.delete()
        return Document.objects.create(
            user_id=user_id,
            conversation_id=conversation_id,
            name=clean(name.replace("\\", "/").rsplit("/", 1)[-1])[:200] or "document",
            media_type=kind,
            size=len(data),
            digest=digest,
        ), False


def finish(user_id: int, document_id: UUID, sections: Sequence[reading.Section]) -> Document:
    """Store what was read as passages: found by their words at once, by meaning as they are embedded."""
    cuts = cut(sections)[:MOST_PASSAGES]
    with transaction.atomic():
        document = Document.objects.select_for_update().get(id=document_id, user_id=user_id)
        if not cuts:
            return fail(user_id, document_id, _("There is no text in it; a scan has to be made readable first."))
        revision = records.next_revision(user_id)
        Chunk.objects.bulk_create(
            [
                Chunk(
                    user_id=user_id,
                    document=document,
                    number=number,
                    heading=item.heading[:300],
                    page=item.page,
                    text=item.text,
                    tokens=lexical.joined(lexical.tokens(f"{item.heading}\n{item.text}")),
                    revision=revision,
                )
                for number, item in enumerate(cuts, 1)
            ],
            batch_size=500,
        )
        document.pages = max((item.page or 0 for item in cuts), default=0)
        document.chunks_total, document.status = len(cuts), Status.READY
        document.save()
    return document


def fail(user_id: int, document_id: UUID, reason: str) -> Document:
    document = Document.objects.get(id=document_id, user_id=user_id)
    document.status, document.fault = Status.FAILED, reason[:300]
    document.save(update_fields=["status", "fault"])
    return document


def delete(user_id: int, document_id: UUID | str) -> bool:
    """Delete a document of this very person with all its passages, vectors and traces. False: there is none."""
    with transaction.atomic():
        document = Document.objects.filter(id=document_id, user_id=user_id).first()
        if document is None:
            return False
        records.next_revision(user_id, forgets=True)
        removals.note(user_id, document.chunks.values_list("id", flat=True), erase=True)
        document.delete()
    return True


def of(user_id: int, conversation_id: UUID | str | None = None) -> list[Any]:
    """What may be searched in a conversation: its own documents and the account's; each with `embedded`, of its total."""
    _sweep(user_id)
    try:
        key = embedder().key
    except EmbedderDown:
        key = ""
    made = Count("chunks", filter=Q(chunks__vector_key=key) & ~Q(chunks__vector_key=""))
    return list(_reachable(user_id, conversation_id).annotate(embedded=made))


def account(user_id: int) -> QuerySet[Document]:
    """All of this person's documents, wherever they belong."""
    return Document.objects.filter(user_id=user_id)


def passages(user_id: int, document_id: UUID | str) -> list[Chunk]:
    """A document from its beginning, for its page."""
    rows = Chunk.objects.filter(user_id=user_id, document_id=document_id).order_by("number")
    return list(rows.defer("vector", "tokens"))


def find(user_id: int, query: str, *, conversation_id: UUID | str | None = None, limit: int = 5) -> Found:
    """The passages that fit best, each with its citation. Only this person's, and of other conversations none."""
    state = UserMemory.objects.filter(user_id=user_id).first()
    names = dict(_reachable(user_id, conversation_id).filter(status=Status.READY).values_list("id", "name"))
    if state is None or not names:
        return Found()
    notices: list[str] = []
    vector, key = search.vector_of(query, None, notices)
    hits = search.hits(
        Chunk, state, query, vector=vector, key=key, lives={}, groups={str(id_) for id_ in names}, count=limit * 3,
        notices=notices,
    )  # fmt: skip
    least = settings.AGENT_RECALL_FLOOR * (1.0 if vector is not None else 0.6)
    scores = {hit.id: hit.semantic + hit.lexical for hit in hits.best if hit.semantic + hit.lexical >= least}
    rows = of_ids(Chunk, user_id, scores).filter(document_id__in=names).defer("vector", "tokens")
    best = sorted(rows, key=lambda row: -scores[row.id])[:limit]
    return Found(
        passages=tuple(
            Passage(
                document_id=row.document_id,
                document=names[row.document_id],
                number=row.number,
                heading=row.heading,
                page=row.page,
                text=row.text,
                score=round(scores[row.id], 4),
                link=link(row.document_id, row.number),
            )
            for row in best
        ),
        notice=" ".join(notices),
    )


def link(document_id: UUID, number: int) -> str:
    """Opens the document at the passage."""
    return f"{reverse('document', args=[document_id])}#passage-{number}"


def surface_text(heading: str, text: str) -> str:
    """What of a passage is embedded: its heading says what it is about."""
    return f"{heading}. {text}" if heading else text


def _reachable(user_id: int, conversation_id: UUID | str | None) -> QuerySet[Document]:
    where = Q(conversation=None) | Q(conversation_id=conversation_id) if conversation_id else Q(conversation=None)
    return Document.objects.filter(where, user_id=user_id)


def _sweep(user_id: int) -> None:
    """A reading whose process died is a failure, not an everlasting wait."""
    late = Document.objects.filter(user_id=user_id, status=Status.READING, created_at__lt=timezone.now() - READING_FOR)
    late.update(status=Status.FAILED, fault=_("Reading it was interrupted; give it again."))

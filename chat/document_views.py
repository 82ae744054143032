"""HTTP door of documents: give the agent a file to read, see how far it is, open it at a passage, delete it.

request -> the list of documents, or a document's page.  Touches: memory.documents; events.
"""

import asyncio
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat.db import in_db
from chat.owned import PersonRequest, conversation_of, signed_in
from memory import documents, reading
from memory.errors import DocumentRefused
from memory.models import Document

REFUSED = 422


@signed_in
@require_GET
@never_cache
def in_conversation(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    """What may be searched here: this conversation's documents and the account's."""
    conversation_of(request, conversation_id)
    return HttpResponse(listing(request, conversation_id))


@never_cache
async def upload_or_list(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    if request.method == "POST":
        return await upload(request, conversation_id)
    return await in_db(in_conversation, request, conversation_id)


@never_cache
async def upload(request: PersonRequest, conversation_id: UUID | None = None) -> HttpResponse:
    """Take in one file or several; each is read in a process of its own while nothing else waits."""
    user = await request.auser()
    if not user.is_authenticated:
        return HttpResponse(status=401)
    if request.method != "POST":
        return HttpResponse(status=405)
    if conversation_id is not None:
        request.user = user
        await in_db(conversation_of, request, conversation_id)
    faults = []
    for file in request.FILES.getlist("file"):
        if fault := await take_in(int(user.pk), file, conversation_id):
            faults.append(f"{file.name}: {fault}")
    if not request.FILES:
        faults.append(_("Choose a file first."))
    page = await in_db(listing, request, conversation_id, "; ".join(faults))
    return HttpResponse(page, status=REFUSED if faults else 200)


async def take_in(user_id: int, file: "UploadedFile[Any]", conversation_id: UUID | None) -> str:
    """Read one file. Returns why it was refused, or nothing."""
    data = await asyncio.to_thread(file.read)
    try:
        document, known = await in_db(documents.begin, user_id, file.name or "", data, conversation_id)
    except DocumentRefused as refusal:
        return str(refusal)
    if known:
        return ""
    try:
        sections = await asyncio.to_thread(reading.read_apart, document.media_type, data)
    except reading.Unreadable as fault:
        await in_db(documents.fail, user_id, document.id, str(fault))
        return str(fault)
    done = await in_db(documents.finish, user_id, document.id, sections)
    return done.fault


@signed_in
@require_GET
@never_cache
def document(request: PersonRequest, document_id: UUID) -> HttpResponse:
    """The whole document as passages; a citation opens it at its own."""
    row = get_object_or_404(Document, pk=document_id, user=request.user)
    held = {"document": row, "passages": documents.passages(request.user.pk, document_id), "section": "documents"}
    return render(request, "chat/document.html", held)


@signed_in
@require_POST
def delete(request: PersonRequest, document_id: UUID) -> HttpResponse:
    """Delete a document with all its passages; answers with the list it stood in."""
    row = get_object_or_404(Document, pk=document_id, user=request.user)
    documents.delete(request.user.pk, document_id)
    return HttpResponse(listing(request, row.conversation_id))


@signed_in
@require_GET
@never_cache
def mine(request: PersonRequest) -> HttpResponse:
    """The account's own documents, for every conversation."""
    return render(request, "chat/documents_page.html", {**context(request.user.pk, None), "section": "documents"})


def listing(request: Any, conversation_id: UUID | None, fault: str = "") -> str:
    return render_to_string(
        "chat/documents.html", {**context(request.user.pk, conversation_id), "fault": fault}, request=request
    )


def context(user_id: int, conversation_id: UUID | None) -> dict[str, Any]:
    rows = documents.of(user_id, conversation_id)
    busy = any(row.status == Document.Status.READING or row.embedded < row.chunks_total for row in rows)
    return {"documents": rows, "conversation_id": conversation_id, "busy": busy}

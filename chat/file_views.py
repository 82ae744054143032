"""HTTP door of a conversation's own files: what the agent saved, to download.

request -> a file, never shown in the page.  Touches: the conversation's folder (reads).
"""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chat.errors import ToolFailed
from chat.owned import PersonRequest, conversation_of, signed_in
from chat.tools import files


@signed_in
@require_GET
@never_cache
def download(request: PersonRequest, conversation_id: UUID, path: str) -> HttpResponse:
    """Always as an attachment of no type: what an agent or a page wrote must not run under this address."""
    conversation = conversation_of(request, conversation_id)
    try:
        found = files.resolve(files.folder(conversation.pk), path)
        data = None if found.name.startswith(".") or not found.is_file() else found.read_bytes()
    except (ToolFailed, ValueError, OSError):
        data = None
    if data is None:
        raise Http404
    response = HttpResponse(data, content_type="application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(True, found.name) or "attachment"
    return response

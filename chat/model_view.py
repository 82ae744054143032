"""HTTP door: which model is in use.

request -> the pill in the header.  Touches: the choice of the model.
"""

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chat.errors import LLMUnavailable
from chat.llm import choose
from chat.owned import PersonRequest, signed_in


@signed_in
@require_GET
@never_cache
def model(request: PersonRequest) -> HttpResponse:
    try:
        llm = async_to_sync(choose.choose)()
    except LLMUnavailable as fault:
        return render(request, "chat/model.html", {"fault": fault})
    return render(request, "chat/model.html", {"name": llm.name, "is_demo": llm.is_demo})

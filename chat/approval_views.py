"""HTTP door of approvals: the card, its edit form, the decision; unknown outcomes; standing permissions.

request -> the card as it is now.  Touches: turns (decisions); rows (reads).
"""

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import approval_card, approval_form, approvals, turns
from chat.approval_form import ArgsForm
from chat.errors import ModelMistake, Refused
from chat.models import Approval, Grant, ToolCall, Turn
from chat.owned import PersonRequest, approval_of, call_of, grant_of, signed_in
from chat.tools import registry

PAGE = 20
CONFLICT, REFUSED = 409, 422
ANSWERS = {"happened", "did_not", "again"}


@signed_in
@require_GET
@never_cache
def card(request: PersonRequest, approval_id: UUID) -> HttpResponse:
    return show(request, approval_of(request, approval_id), focus=bool(request.GET.get("back")))


@signed_in
@require_GET
@never_cache
def call_card(request: PersonRequest, call_id: UUID) -> HttpResponse:
    return show_call(request, call_of(request, call_id))


@signed_in
@require_GET
@never_cache
def edit(request: PersonRequest, approval_id: UUID) -> HttpResponse:
    approval = approval_of(request, approval_id)
    if approval.status != Approval.Status.ASKED:
        return show(request, approval, notice=approvals.too_late(approval.status), status=CONFLICT)
    return show_form(request, approval, form_of(approval))


@signed_in
@require_POST
def decide(request: PersonRequest, approval_id: UUID) -> HttpResponse:
    """Approve as shown, approve as edited, always allow, or reject. What was shown is what is decided: see digest."""
    approval = approval_of(request, approval_id)
    decision, seen = request.POST.get("decision", ""), request.POST.get("digest", "")
    if decision not in {"approve", "edited", "always", "reject"} or not seen:
        return show(request, approval, notice=_("Nothing was decided. Look at the action and choose."), status=REFUSED)
    choice: dict[str, Any] = {"grant": decision != "reject", "digest": seen}
    if decision == "reject":
        choice["reason"] = request.POST.get("reason", "")
    if decision == "always":
        fixed = [name for name in request.POST.getlist("only") if name in approval.args]
        choice |= {"always": True, "constraints": {name: approval.args[name] for name in fixed}}
    if decision == "edited":
        form = form_of(approval, request.POST)
        if not checked(form, approval):
            return show_form(request, approval, form, status=REFUSED)
        choice["args"] = form.args()
    try:
        turns.decide_approval(request.user, approval.pk, **choice)
    except Refused as refused:
        return show(request, approval_of(request, approval_id), notice=str(refused), status=CONFLICT)
    except ModelMistake as mistake:
        form.add_error(None, str(mistake))
        return show_form(request, approval, form, status=REFUSED)
    return show(request, approval_of(request, approval_id), focus=True)


def form_of(approval: Approval, data: Any = None) -> ArgsForm:
    contract = registry.find(approval.tool)
    schema = contract.schema() if contract else {}
    labels = contract.labels if contract else {}
    return approval_form.form_for(schema, approval.args, labels, data, ids=f"{approval.pk}-")


def checked(form: ArgsForm, approval: Approval) -> bool:
    """Valid by the form and by the contract; each fault stands at its field."""
    contract = registry.find(approval.tool)
    if form.is_valid() and contract is not None:
        form.show_faults(approval_form.faults(contract, form.args()))
    return form.is_valid()


# ---- a call whose outcome is not known -------------------------------------------------------------------


@signed_in
@require_POST
def settle(request: PersonRequest, call_id: UUID) -> HttpResponse:
    call = call_of(request, call_id)
    answer = request.POST.get("answer", "")
    if answer not in ANSWERS:
        return show_call(request, call, notice=_("Choose what became of it."), status=REFUSED)
    try:
        turns.settle_unknown(request.user, call.pk, answer)
    except Refused as refused:
        return show_call(request, call_of(request, call_id), notice=str(refused), status=CONFLICT)
    return show_call(request, call_of(request, call_id))


# ---- what waits, and what is allowed ------------------------------------------------------------------------


@signed_in
@require_GET
@never_cache
def waiting(request: PersonRequest) -> HttpResponse:
    """Everything that waits for this person, in all conversations, the oldest first."""
    asked = Approval.objects.filter(
        turn__conversation__user=request.user, status=Approval.Status.ASKED, expires_at__gt=timezone.now()
    ).exclude(turn__status=Turn.Status.ENDED)
    related = ("call__iteration", "call__turn__conversation", "turn__conversation", "decided_by")
    page = Paginator(asked.select_related(*related).order_by("asked_at"), PAGE).get_page(request.GET.get("page"))
    unknown = unknown_calls(request)
    questions = Turn.objects.filter(conversation__user=request.user, status=Turn.Status.WAITING_USER)
    context = {
        "section": "waiting",
        "page": page,
        "cards": [approval_card.of(approval, user_id=request.user.pk, waits=0) for approval in page],
        "unknown": [approval_card.of_call(call) for call in unknown[:PAGE]],
        "questions": questions.select_related("conversation").order_by("created_at")[:PAGE],
    }
    return render(request, "chat/approval_waiting.html", context)


def unknown_calls(request: PersonRequest) -> QuerySet[ToolCall]:
    mine = ToolCall.objects.filter(turn__conversation__user=request.user, status=ToolCall.Status.UNKNOWN)
    return mine.select_related("iteration", "turn__conversation").order_by("started_at")


@signed_in
@require_GET
@never_cache
def grants(request: PersonRequest) -> HttpResponse:
    """What the agent may do without asking, in which conversation."""
    return render(request, "chat/approval_grants.html", standing_grants(request, request.GET.get("page")))


@signed_in
@require_POST
def revoke(request: PersonRequest, grant_id: int) -> HttpResponse:
    turns.revoke_grant(request.user, grant_of(request, grant_id).pk)
    if not request.htmx:
        return redirect("grants")
    said = _("Revoked. The agent asks you again from now on.")
    return render(request, "chat/approval_grants.html#list", standing_grants(request) | {"notice": said})


def standing_grants(request: PersonRequest, number: str | None = None) -> dict[str, Any]:
    mine = Grant.objects.filter(conversation__user=request.user, revoked_at=None).select_related("conversation")
    page = Paginator(mine.order_by("-created_at"), PAGE).get_page(number)
    rows = [(grant, approval_card.rows(registry.find(grant.tool), grant.constraints, {})) for grant in page]
    return {"page": page, "rows": rows, "section": "grants"}


# ---- parts -----------------------------------------------------------------------------------------------


def show(
    request: PersonRequest, approval: Approval, *, notice: str = "", status: int = 200, focus: bool = False
) -> HttpResponse:
    """focus: the card takes the place of what the person pressed, and so the keyboard's place too."""
    drawn = approval_card.of(approval, user_id=request.user.pk)
    context = {"card": drawn, "notice": notice, "notice_bad": status >= CONFLICT, "focus": focus}
    return page_or_card(request, context, status)


def show_call(request: PersonRequest, call: ToolCall, *, notice: str = "", status: int = 200) -> HttpResponse:
    approval = Approval.objects.filter(call=call).first()
    if approval is not None:
        return show(request, approval_of(request, approval.pk), notice=notice, status=status)
    drawn = approval_card.of_call(call)
    return page_or_card(request, {"card": drawn, "notice": notice, "notice_bad": status >= CONFLICT}, status)


def page_or_card(request: PersonRequest, context: dict[str, Any], status: int) -> HttpResponse:
    template = "chat/approval.html" if request.htmx else "chat/approval_page.html"
    return render(request, template, context, status=status)


def show_form(request: PersonRequest, approval: Approval, form: ArgsForm, status: int = 200) -> HttpResponse:
    drawn = approval_card.of(approval, user_id=request.user.pk)
    if first := next(iter(form.fields.values()), None):
        first.widget.attrs["autofocus"] = True
    template = "chat/approval_edit.html" if request.htmx else "chat/approval_page.html"
    return render(request, template, {"card": drawn, "form": form}, status=status)

"""HTTP door of the inspector: its panels, and what a person does in them.

request -> the refreshed panel.  Touches: panels (reads); planning, slots, turns, conversations (their writers); events.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from chat import conversations, events, panel_state, panel_trace, panels, turns
from chat.errors import Refused
from chat.models import Conversation, Turn
from chat.owned import PersonRequest, conversation_of, iteration_of, signed_in
from chat.tools import planned
from memory import slots
from memory.errors import SlotRefused
from memory.models import StateSlot
from planning import exclusions, plans, templates
from planning.errors import PlanRefused, StaleRevision
from planning.models import Exclusion, Plan

CONFLICT, REFUSED = 409, 422


@signed_in
@require_GET
@never_cache
def panel(request: PersonRequest, conversation_id: UUID, name: str) -> HttpResponse:
    return show(request, conversation_of(request, conversation_id), name, request.GET.dict())


def show(
    request: PersonRequest,
    conversation: Conversation,
    name: str,
    options: Mapping[str, str] | None = None,
    *,
    notice: str = "",
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    """One panel as it is now, with what has to be said about the request."""
    more |= {"notice": notice, "notice_bad": status >= 400}
    return HttpResponse(panels.render(name, conversation, options or {}, request, **more), status=status)


# ---- plan ----------------------------------------------------------------------------------------------


@signed_in
@require_POST
def edit_plan(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    """One change of the live plan. A tab that shows an older revision is told so, and nothing is changed."""
    conversation = conversation_of(request, conversation_id)
    plan = Plan.objects.filter(conversation=conversation).select_related("turn").order_by("-id").first()
    if plan is None or not plan.turn.is_open:
        return show(
            request, conversation, "plan", notice=_("This plan is over; it can no longer be changed."), status=409
        )
    editing = {"mode": "edit"}
    try:
        change = plan_change(request.POST, plan)
        with transaction.atomic():  # the plan, the goal that the turn has too, and what waits: all change or none
            plans.edit(plan.turn_id, whole(request.POST.get("revision")), change, tools=planned.facts())
            if change["op"] == "goal":
                turns.set_goal(request.user, plan.turn_id, change["goal"])
            turns.plan_edited(request.user, plan.turn_id)
    except StaleRevision as stale:
        said = _("Not changed: the plan is at revision %(n)s by now. This is the newest; make your change again.")
        return show(request, conversation, "plan", editing, notice=said % {"n": stale.current}, status=CONFLICT)
    except PlanRefused as refused:
        return show(request, conversation, "plan", editing, notice=" ".join(refused.faults), status=REFUSED)
    except Refused as refused:
        return show(request, conversation, "plan", editing, notice=str(refused), status=CONFLICT)
    return show(request, conversation, "plan", editing)


def plan_change(posted: QueryDict, plan: Plan) -> dict[str, Any]:
    """The posted form as a change that planning.plans.edit takes."""
    op, key = posted.get("op", ""), posted.get("key", "")
    if op in {"up", "down"}:
        step = plan.steps.filter(key=key).first()
        if step is None:
            raise PlanRefused([_("This step is no longer in the plan.")])
        return {"op": "move", "key": key, "to": step.index + (1 if op == "down" else -1)}
    if op == "add":
        return {"op": "add", "title": posted.get("title", ""), "tool": posted.get("tool", "")}
    if op == "goal":
        return {"op": "goal", "goal": posted.get("goal", "")}
    return {"op": op, "key": key, "title": posted.get("title", ""), "question": posted.get("question", "")}


@signed_in
@require_POST
def approve_plan(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    conversation = conversation_of(request, conversation_id)
    turn = conversation.turns.order_by("-number").first()
    if turn is None:
        raise Http404
    ok = request.POST.get("ok") == "1"
    return acted(
        request,
        conversation,
        "plan",
        lambda: turns.approve_plan(request.user, turn.pk, ok=ok, reason=request.POST.get("reason", "")[:2000]),
    )


@signed_in
@require_POST
def ask_first(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    """ "Show me the plan before you start", for this conversation."""
    conversation = conversation_of(request, conversation_id)
    conversations.set_approve_plans(conversation, request.POST.get("on") == "1")
    conversation.refresh_from_db(fields=["approve_plans"])
    return show(request, conversation, "plan")


@signed_in
@require_POST
def keep_plan(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    conversation = conversation_of(request, conversation_id)
    plan = Plan.objects.filter(conversation=conversation).select_related("turn").order_by("-id").first()
    name = request.POST.get("name", "").strip()[:120]
    if plan is None or plan.turn.end != Turn.End.FINISHED:
        return show(request, conversation, "plan", notice=_("Only a finished plan can be kept."), status=CONFLICT)
    if not name:
        return show(request, conversation, "plan", notice=_("A template needs a name."), status=REFUSED)
    templates.keep(plan.turn_id, request.user.pk, name)
    return show(request, conversation, "plan", notice=_("Kept as “%(name)s”.") % {"name": name})


@signed_in
@require_POST
def change_exclusion(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    """Add, reword or lift what is ruled out in this conversation."""
    conversation = conversation_of(request, conversation_id)
    op, text = request.POST.get("op", ""), request.POST.get("text", "").strip()[:300]
    if op in {"add", "edit"} and not text:
        return show(request, conversation, "plan", notice=_("Say what is ruled out."), status=REFUSED)
    if op == "add":
        reason = request.POST.get("reason", "").strip()[:1000]
        exclusions.rule_out(conversation.pk, text, reason, author=Plan.Author.PERSON)
    else:
        # Only those of this conversation: the number in the form opens no other door.
        live = Exclusion.objects.filter(conversation=conversation, lifted_at=None)
        found = live.filter(pk=whole(request.POST.get("id"))).first()
        if found is None:
            return show(request, conversation, "plan", notice=_("It was lifted already."), status=CONFLICT)
        if op == "edit":
            exclusions.edit(found.pk, text)
        else:
            exclusions.lift(found.pk)
    events.tell_sync(conversation.pk, "plan-changed")
    return show(request, conversation, "plan")


# ---- state ---------------------------------------------------------------------------------------------


@signed_in
@require_POST
def change_slot(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    """Set, add, remove one slot, or undo one change of it."""
    conversation = conversation_of(request, conversation_id)
    posted, name = request.POST, request.POST.get("name", "").strip()
    back = {"edit": name} if posted.get("op") == "set" else {"mode": "add"} if posted.get("op") == "add" else {}
    try:
        if posted.get("op") == "undo":
            slots.undo(conversation.pk, whole(posted.get("change")), by="person")
        else:
            slots.patch(conversation.pk, [slot_change(posted, name, conversation)], by="person")
    except SlotRefused as refused:
        return show(request, conversation, "state", back, notice=" ".join(refused.faults), status=REFUSED)
    except ObjectDoesNotExist:
        return show(request, conversation, "state", notice=_("It is no longer there."), status=CONFLICT)
    events.tell_sync(conversation.pk, "state-changed")
    return show(request, conversation, "state", {"page": posted.get("page", "")})


def slot_change(posted: QueryDict, name: str, conversation: Conversation) -> dict[str, Any]:
    """The posted form as a change that memory.slots.patch takes; values keep the type the slot had."""
    op = posted.get("op", "")
    if op == "add":
        return {"op": "set", "name": name, "kind": posted.get("kind", ""), "value": posted.get("value", "").strip()}
    slot = StateSlot.objects.filter(conversation=conversation, name=name).first()
    if slot is None:
        raise SlotRefused([_("It is no longer there.")])
    if op == "remove":
        return {"op": "remove", "name": name}
    if "attribute" in posted:
        before = slot.value if isinstance(slot.value, dict) else {}
        pairs = zip(posted.getlist("attribute"), posted.getlist("attribute-value"), strict=False)
        value: Any = {
            key.strip(): panel_state.typed(text, before.get(key.strip()))
            for key, text in pairs
            if key.strip() and text.strip()
        }
    else:
        value = panel_state.typed(posted.get("value", ""), slot.value)
    return {"op": "set", "name": name, "kind": slot.kind, "value": value}


# ---- trace ---------------------------------------------------------------------------------------------


@signed_in
@require_GET
@never_cache
def trace_iteration(request: PersonRequest, conversation_id: UUID, iteration_id: int) -> HttpResponse:
    conversation = conversation_of(request, conversation_id)
    iteration = iteration_of(request, conversation, iteration_id)
    drawn = panel_trace.detail(iteration, for_staff=request.user.is_staff)
    return render(request, "panels/parts/iteration.html", {"conversation": conversation, **drawn})


@signed_in
@require_GET
@never_cache
def trace_json(request: PersonRequest, conversation_id: UUID) -> HttpResponse:
    conversation = conversation_of(request, conversation_id)
    body = {
        "conversation": conversation.pk,
        "title": conversation.title,
        "iterations": list(panel_trace.export(conversation, for_staff=request.user.is_staff)),
    }
    text = json.dumps(body, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1)
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="trace-{conversation.pk}.json"'
    return response


# ---- parts ---------------------------------------------------------------------------------------------


def acted(request: PersonRequest, conversation: Conversation, name: str, act: Callable[[], object]) -> HttpResponse:
    """Do it and answer with the panel; a refusal is said in it."""
    try:
        act()
    except Refused as refused:
        return show(request, conversation, name, notice=str(refused), status=CONFLICT)
    return show(request, conversation, name)


def whole(text: str | None) -> int:
    """A number from a form; 0 when it is none (no row has it)."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else 0

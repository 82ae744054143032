"""Which URL goes to which panel, approval or memory door.

Touches: views.
"""

from django.urls import path

from chat import approval_views, memory_views, panel_views

panel_urlpatterns = [
    path("c/<uuid:conversation_id>/panel/<slug:name>/", panel_views.panel, name="panel"),
    path("c/<uuid:conversation_id>/plan/edit/", panel_views.edit_plan, name="plan-edit"),
    path("c/<uuid:conversation_id>/plan/approve/", panel_views.approve_plan, name="plan-approve"),
    path("c/<uuid:conversation_id>/plan/ask-first/", panel_views.ask_first, name="plan-ask-first"),
    path("c/<uuid:conversation_id>/plan/keep/", panel_views.keep_plan, name="plan-keep"),
    path("c/<uuid:conversation_id>/exclusions/", panel_views.change_exclusion, name="exclusion"),
    path("c/<uuid:conversation_id>/state/", panel_views.change_slot, name="slot-act"),
    path("c/<uuid:conversation_id>/trace/<int:iteration_id>/", panel_views.trace_iteration, name="trace-iteration"),
    path("c/<uuid:conversation_id>/trace.json", panel_views.trace_json, name="trace-json"),
    # Memory: inside a conversation, and the page of all.
    path("c/<uuid:conversation_id>/memory/", memory_views.panel_act, name="memory-act"),
    path("memories/", memory_views.memories, name="memories"),
    path("memories/mode/", memory_views.set_mode, name="memories-mode"),
    path("memories/act/", memory_views.act, name="memories-act"),
    path("memories/hygiene/", memory_views.hygiene_report, name="memories-hygiene"),
    path("memories/then/", memory_views.then, name="memories-then"),
    path("memories/export.json", memory_views.export, name="memories-export"),
    path("memories/forget-everything/", memory_views.forget_everything, name="memories-forget"),
    # Approvals.
    path("approvals/<uuid:approval_id>/", approval_views.card, name="approval"),
    path("approvals/<uuid:approval_id>/edit/", approval_views.edit, name="approval-edit"),
    path("approvals/<uuid:approval_id>/decide/", approval_views.decide, name="approval-decide"),
    path("calls/<uuid:call_id>/", approval_views.call_card, name="call"),
    path("calls/<uuid:call_id>/settle/", approval_views.settle, name="call-settle"),
    path("waiting/", approval_views.waiting, name="waiting"),
    path("permissions/", approval_views.grants, name="grants"),
    path("permissions/<int:grant_id>/revoke/", approval_views.revoke, name="grant-revoke"),
]

"""What happens, as rows: conversations, messages, turns, iterations, tool calls, approvals.

Touches: nothing else.
"""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Conversation(models.Model):
    """Everything between one user and the agent on one subject."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=200, blank=True)  # from the first message, or the person's own
    # Ask the person to approve each plan before its first step.
    approve_plans = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now_add=True)  # last activity; moved by the writer

    class Meta:
        indexes = [models.Index(fields=["user", "-updated_at"])]

    def __str__(self) -> str:
        return self.title or str(_("New conversation"))


class Turn(models.Model):
    """One user message until the agent finishes, stops or fails."""

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Working")
        WAITING_APPROVAL = "waiting_approval", _("Waiting for your approval")
        WAITING_USER = "waiting_user", _("Waiting for your answer")
        ENDED = "ended", _("Ended")

    class End(models.TextChoices):
        FINISHED = "finished", _("Finished")
        STOPPED = "stopped", _("Stopped by you")
        EXHAUSTED = "exhausted", _("A limit was reached")
        FAILED = "failed", _("Failed")

    OPEN = (Status.QUEUED, Status.RUNNING, Status.WAITING_APPROVAL, Status.WAITING_USER)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField()  # 1, 2, … within the conversation
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.QUEUED)
    end = models.CharField(max_length=12, choices=End.choices, blank=True)
    gate = models.CharField(max_length=30, blank=True)  # the gate that ended it: iterations, tokens, repeated …
    reason = models.TextField(blank=True)  # why it ended or waits, in plain words
    goal = models.TextField()  # the task in the person's words; edited by the person, never by the model
    model = models.CharField(max_length=120, blank=True)  # the model in use, as shown
    # What the gates look at. Limits are copied from the settings when the turn starts, and may be raised.
    limits = models.JSONField(default=dict)
    iterations_used = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveIntegerField(default=0)
    reply_tokens = models.PositiveIntegerField(default=0)
    cost = models.FloatField(null=True, blank=True)  # dollars; null: the price is not known
    seconds = models.FloatField(default=0)  # working time, waiting excluded
    # Who works on it. The fence grows with each claim: a late writer with an old fence is refused.
    owner = models.CharField(max_length=80, blank=True)
    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    crashes = models.PositiveIntegerField(default=0)  # claims that ended by a silent lease
    stop_requested = models.BooleanField(default=False)
    partial = models.TextField(blank=True)  # the reply being streamed, saved about once a second
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation"], condition=~Q(status="ended"), name="one_open_turn"),
            models.UniqueConstraint(fields=["conversation", "number"], name="turn_number"),
        ]
        indexes = [models.Index(fields=["status", "lease_until"])]

    def __str__(self) -> str:
        return f"{self.number}: {self.goal[:60]}"

    @property
    def is_open(self) -> bool:
        return self.status != Turn.Status.ENDED


class Message(models.Model):
    """One thing said in a conversation."""

    class Role(models.TextChoices):
        USER = "user", _("You")
        AGENT = "agent", _("Agent")
        NOTICE = "notice", _("Notice")  # the product speaks: a limit, a fault, a hint; the model never sees it

    class Mark(models.TextChoices):
        NONE = "", ""
        STEERING = "steering", _("Steering, read at the next iteration")
        TAKEN = "taken", _("Steering, read")
        QUESTION = "question", _("Question")
        FALLBACK = "fallback", _("Written by the product from what is known")
        CUT_OFF = "cut_off", _("Cut off")
        STOPPED = "stopped", _("Stopped")

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages")
    turn = models.ForeignKey(Turn, models.CASCADE, related_name="messages")
    role = models.CharField(max_length=8, choices=Role.choices)
    mark = models.CharField(max_length=10, choices=Mark.choices, blank=True)
    text = models.TextField()
    data = models.JSONField(default=dict)  # sources and open points of an answer
    # Made by the browser: a message sent again after a reconnect is the same message.
    client_id = models.CharField(max_length=64, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["conversation", "client_id"], name="message_once")]

    def __str__(self) -> str:
        return f"{self.role}: {self.text[:60]}"


class Summary(models.Model):
    """One version of the rolling summary of what has left the window. The newest one is read."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="summaries")
    version = models.PositiveIntegerField()
    text = models.TextField()
    upto = models.BigIntegerField()  # id of the last message it covers; it covers all before
    kept = models.JSONField(default=list)  # names of the slots that hold what the text would have lost
    tokens = models.PositiveIntegerField(default=0)  # spent on making it
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["version"]
        constraints = [models.UniqueConstraint(fields=["conversation", "version"], name="summary_version")]

    def __str__(self) -> str:
        return f"{self.version}: {self.text[:60]}"


class Iteration(models.Model):
    """One pass of the loop: one decision, its results, one outcome."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="iterations")
    number = models.PositiveIntegerField()  # 1, 2, … within the turn
    step_key = models.CharField(max_length=12, blank=True)  # the plan step in focus
    plan_revision = models.PositiveIntegerField(default=0)
    # The context: [{"name", "text", "tokens", "kept", "rule"}], what was left out included.
    sections = models.JSONField(default=list)
    offered = models.JSONField(default=list)  # names of the tools offered
    receipt = models.JSONField(default=list)  # memory receipt: every candidate, its score split, its fate
    raw = models.JSONField(default=dict)  # the model's output as it came: text, reasoning, calls, finish
    thought = models.TextField(blank=True)  # what the model said beside its calls
    notes = models.JSONField(default=list)  # what the loop has to say: faults, nudges, decided conditions
    changes = models.JSONField(default=dict)  # slot patch and plan change of this iteration
    outcome = models.CharField(max_length=12, blank=True)  # continue, pause, finish, stop
    reason = models.TextField(blank=True)
    prompt_tokens = models.PositiveIntegerField(default=0)
    reply_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    estimated = models.BooleanField(default=False)  # the endpoint sent no usage; tokens are our estimate
    cost = models.FloatField(null=True, blank=True)
    model_ms = models.PositiveIntegerField(default=0)  # the endpoint's time
    own_ms = models.PositiveIntegerField(default=0)  # ours, tools excluded
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="iteration_number")]

    def __str__(self) -> str:
        return f"{self.turn_id} · {self.number}"


class ToolCall(models.Model):
    """One use of a tool: intent before, result after."""

    class Status(models.TextChoices):
        INTENDED = "intended", _("Intended")  # written down, not yet run
        WAITING = "waiting", _("Waiting for your approval")
        RUNNING = "running", _("Running")
        SUCCEEDED = "succeeded", _("Succeeded")
        FAILED = "failed", _("Failed")
        REFUSED = "refused", _("Refused by the loop")  # never ran: unknown tool, bad arguments, not offered, quota
        REJECTED = "rejected", _("Rejected by you")
        EXPIRED = "expired", _("Approval expired")
        CANCELLED = "cancelled", _("Cancelled")
        UNKNOWN = "unknown", _("Outcome unknown")

    SETTLED = (Status.SUCCEEDED, Status.FAILED, Status.REFUSED, Status.REJECTED, Status.EXPIRED, Status.CANCELLED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    iteration = models.ForeignKey(Iteration, models.CASCADE, related_name="calls")
    turn = models.ForeignKey(Turn, models.CASCADE, related_name="calls")  # saves a join on the hot path
    index = models.PositiveIntegerField()  # order within the decision
    step_key = models.CharField(max_length=12, blank=True)
    tool = models.CharField(max_length=120)
    version = models.CharField(max_length=40, blank=True)  # the contract's version
    tier = models.CharField(max_length=10, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.INTENDED)
    proposed = models.JSONField(default=dict)  # arguments as the model gave them
    args = models.JSONField(default=dict)  # effective arguments: defaults filled, normalised, or edited
    digest = models.CharField(max_length=64, blank=True)  # sha-256 of tool, version and effective arguments
    notes = models.JSONField(default=list)  # harmless slips that were normalised
    result = models.JSONField(null=True, blank=True)  # what the tool returned: the evidence
    text = models.TextField(blank=True)  # the result as the model reads it, cut to size
    summary = models.CharField(max_length=300, blank=True)  # one line for the stream
    error = models.JSONField(null=True, blank=True)  # {"what", "cause", "next", "retry"}
    traceback = models.TextField(blank=True)  # for staff only
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["iteration_id", "index"]
        constraints = [models.UniqueConstraint(fields=["iteration", "index"], name="call_index")]
        indexes = [models.Index(fields=["turn", "status"])]

    def __str__(self) -> str:
        return f"{self.tool} ({self.status})"

    @property
    def idempotency_key(self) -> str:
        """Handed to the tool: the same for every attempt at this very call."""
        return str(self.id)


class Approval(models.Model):
    """A human's answer to one tool call; exactly what will run."""

    class Status(models.TextChoices):
        ASKED = "asked", _("Waiting for your decision")
        GRANTED = "granted", _("Approved")
        DENIED = "denied", _("Rejected")
        EXPIRED = "expired", _("Expired")
        WITHDRAWN = "withdrawn", _("Withdrawn")  # the turn was stopped, or the call fell away
        USED = "used", _("Approved and run")  # an approval runs one call once

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    call = models.OneToOneField(ToolCall, models.CASCADE, related_name="approval")
    turn = models.ForeignKey(Turn, models.CASCADE, related_name="approvals")
    tool = models.CharField(max_length=120)
    version = models.CharField(max_length=40, blank=True)
    tier = models.CharField(max_length=10)
    args = models.JSONField()  # effective arguments
    digest = models.CharField(max_length=64)
    why = models.TextField(blank=True)  # why the agent wants it
    because = models.JSONField(default=dict)  # argument -> the decided fact behind it
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ASKED)
    reason = models.TextField(blank=True)  # the person's words with a rejection
    edited = models.BooleanField(default=False)
    asked_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering = ["asked_at"]
        indexes = [models.Index(fields=["turn", "status"])]

    def __str__(self) -> str:
        return f"{self.tool}: {self.status}"


class Grant(models.Model):
    """ "Always allow" one write tool in one conversation, within limits the person set."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="grants")
    tool = models.CharField(max_length=120)
    version = models.CharField(max_length=40, blank=True)
    constraints = models.JSONField(default=dict)  # argument -> the only value allowed
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.tool} {self.constraints}"


class Notice(models.Model):
    """A person was told elsewhere (e-mail, webhook) that a pause of a turn waits for them; once for each."""

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="notices")
    iteration = models.PositiveIntegerField()  # the number of the one that paused
    sent_at = models.DateTimeField(null=True, blank=True)
    fault = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "iteration"], name="one_notice_for_each_pause")]

    def __str__(self) -> str:
        return f"{self.turn_id} {self.iteration}"


from chat.models_mcp import McpServer as McpServer  # noqa: E402
from chat.models_mcp import McpTool as McpTool  # noqa: E402

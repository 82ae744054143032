"""What is known, as rows: state slots, memory records, entity facts, and what must not be learnt again.

Touches: nothing else. Rows point at the conversation by name; this room never imports chat.
"""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class StateSlot(models.Model):
    """One named value of the working memory of one conversation."""

    class Kind(models.TextChoices):
        GOAL = "goal", _("Goal")
        CONSTRAINT = "constraint", _("Constraint")
        ENTITY = "entity", _("Entity")
        TODO = "todo", _("To do")
        QUESTION = "question", _("Open question")
        FACT = "fact", _("Fact")  # a number, a date, an id that a summary would bend

    conversation = models.ForeignKey("chat.Conversation", models.CASCADE, related_name="slots")
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    value = models.JSONField()  # text or number; for an entity its attributes
    set_by = models.CharField(max_length=8)  # agent, person or code
    iteration = models.PositiveIntegerField(null=True, blank=True)
    turn = models.ForeignKey("chat.Turn", models.SET_NULL, null=True, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["kind", "id"]
        constraints = [models.UniqueConstraint(fields=["conversation", "name"], name="slot_name")]

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"


class SlotChange(models.Model):
    """One change of one slot, kept with who made it and when."""

    conversation = models.ForeignKey("chat.Conversation", models.CASCADE, related_name="slot_changes")
    turn = models.ForeignKey("chat.Turn", models.SET_NULL, null=True, blank=True)
    iteration = models.PositiveIntegerField(null=True, blank=True)
    name = models.CharField(max_length=80)
    before = models.JSONField(null=True)  # null: it was not there
    after = models.JSONField(null=True)  # null: it was removed
    by = models.CharField(max_length=8)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.name}: {self.before} -> {self.after}"


class MemoryRecord(models.Model):
    """One lasting thing known about or for a user."""

    class Status(models.TextChoices):
        LIVE = "live", _("Live")
        REVIEW = "review", _("Waiting for your review")
        RETIRED = "retired", _("Retired")  # superseded, merged or retired by hand
        EXPIRED = "expired", _("Expired")

    class Index(models.TextChoices):
        PENDING = "pending", _("Not yet searchable")
        INDEXED = "indexed", _("Indexed")
        REMOVE = "remove", _("To be removed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memories")
    kind = models.CharField(max_length=20)  # a file name of memory/kinds
    text = models.TextField()
    tokens = models.TextField(blank=True)  # the lexical form, space separated
    vector = models.BinaryField(null=True)  # float16
    vector_key = models.CharField(max_length=60, blank=True)  # the embedder that made it
    confidence = models.FloatField(default=0.7)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.LIVE)
    pinned = models.BooleanField(default=False)
    index_state = models.CharField(max_length=8, choices=Index.choices, default=Index.PENDING)
    # Where it is from: {"by": person|agent|tool, "turn", "message", "iteration", "tool", "quote", "merged": [...]}
    source = models.JSONField(default=dict)
    conversation = models.ForeignKey("chat.Conversation", models.SET_NULL, null=True, blank=True, related_name="+")
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="supersedes")
    retired_because = models.CharField(max_length=200, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    recalled = models.PositiveIntegerField(default=0)
    recalled_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["user", "status"]),
            models.Index(fields=["index_state"], condition=~Q(index_state="indexed"), name="memory_outbox"),
        ]

    def __str__(self) -> str:
        return self.text[:80]


class RecordEdit(models.Model):
    """One text a memory had before it was corrected."""

    record = models.ForeignKey(MemoryRecord, models.CASCADE, related_name="edits")
    before = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.before[:80]


class EntityFact(models.Model):
    """Subject, attribute, value, valid from and to."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="facts")
    subject = models.CharField(max_length=120)  # normalised; "user" is the person
    attribute = models.CharField(max_length=120)
    value = models.TextField()
    many = models.BooleanField(default=False)  # several values may be true at once
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="supersedes")
    record = models.ForeignKey(MemoryRecord, models.CASCADE, null=True, blank=True, related_name="facts")
    source = models.JSONField(default=dict)

    class Meta:
        ordering = ["subject", "attribute", "-valid_from"]
        indexes = [models.Index(fields=["user", "subject", "attribute"])]

    def __str__(self) -> str:
        return f"{self.subject} · {self.attribute} = {self.value}"


class Tombstone(models.Model):
    """A keyed hash of something forgotten, so that it is not learnt again from the same source."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tombstones")
    digest = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="tombstone_once")]

    def __str__(self) -> str:
        return self.digest[:12]

"""What is known, as rows: state slots, memory records, entity facts, and what must not be learnt again.

Touches: nothing else. Rows point at the conversation by name; this room never imports chat.
"""

import time
import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext


def _now_us() -> int:
    return time.time_ns() // 1000


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


class UserMemory(models.Model):
    """How one person's memory is kept, and how often it has changed."""

    class Mode(models.TextChoices):
        AUTO = "auto", _("Keep what seems worth it")
        ASK = "ask", _("Ask me first")
        OFF = "off", _("Learn nothing")

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="memory")
    mode = models.CharField(max_length=4, choices=Mode.choices, default=Mode.AUTO)
    # Grows with every change of the person's memories: tells each process when its copy is stale.
    # It starts at the clock, not at zero, so that a copy of another database's rows is never taken for current.
    revision = models.PositiveBigIntegerField(default=_now_us)
    # The revision of the last forgetting: an older copy is thrown away whole, it may hold what is gone.
    epoch = models.PositiveBigIntegerField(default=_now_us)
    consolidated_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.user_id}: {self.mode}"


class Searchable(models.Model):
    """What can be found by meaning and by words: its text, and what is made of the text."""

    class Index(models.TextChoices):
        PENDING = "pending", _("Not yet in the index")
        INDEXED = "indexed", _("Indexed")
        REMOVE = "remove", _("To be taken out of the index")
        OUT = "out", _("Not indexed")  # retired and taken out

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    text = models.TextField()
    tokens = models.TextField(blank=True)  # the lexical form, space separated
    vector = models.BinaryField(null=True)  # float16
    vector_key = models.CharField(max_length=80, blank=True)  # the embedder that made it
    index_state = models.CharField(max_length=8, choices=Index.choices, default=Index.PENDING)
    revision = models.PositiveBigIntegerField(default=0)  # the person's revision when it last changed
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class MemoryRecord(Searchable):
    """One lasting thing known about or for a user."""

    class Status(models.TextChoices):
        LIVE = "live", _("Live")
        REVIEW = "review", _("Waiting for your review")
        RETIRED = "retired", _("Retired")  # superseded, merged or retired by hand
        EXPIRED = "expired", _("Expired")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memories")
    kind = models.CharField(max_length=20)  # a file name of memory/kinds
    digest = models.CharField(max_length=64, blank=True)  # keyed hash of the normalised text, to find it again
    confidence = models.FloatField(default=0.7)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.LIVE)
    pinned = models.BooleanField(default=False)
    # Where it is from: {"by": person|agent|tool, "turn", "message", "iteration", "tool", "quote", "also": [...]}
    source = models.JSONField(default=dict)
    conversation = models.ForeignKey("chat.Conversation", models.SET_NULL, null=True, blank=True, related_name="+")
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="supersedes")
    retired_because = models.CharField(max_length=200, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    recalled = models.PositiveIntegerField(default=0)
    recalled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "id"]
        verbose_name = _("memory")
        verbose_name_plural = _("memories")
        indexes = [
            models.Index(fields=["user", "status", "-created_at"]),
            models.Index(fields=["user", "digest"]),
            models.Index(fields=["user", "revision"]),
            models.Index(fields=["index_state", "user"]),  # the outbox
        ]

    def __str__(self) -> str:
        # Not the text: this lands in logs and in the admin's history, where forgetting does not reach.
        return f"{self.kind} {str(self.id)[:8]}"

    @property
    def is_over(self) -> bool:
        """Past its time, whether or not it has been swept yet."""
        return self.expires_at is not None and self.expires_at <= timezone.now()


class IndexRemoval(models.Model):
    """A vector to be taken out of the index whose row is gone already."""

    id = models.UUIDField(primary_key=True, editable=False)  # of the row that is gone
    user_id = models.BigIntegerField()
    erase = models.BooleanField(default=False)  # a person asked: its traces in the files must go too
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.id)[:8]


class RecordEdit(models.Model):
    """One text a memory had before it was corrected."""

    record = models.ForeignKey(MemoryRecord, models.CASCADE, related_name="edits")
    before = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.record_id} {self.at:%Y-%m-%d}"


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
    records = models.ManyToManyField(MemoryRecord, blank=True, related_name="facts")  # the memories that state it
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


class Forgetting(models.Model):
    """What one act of forgetting removed, in numbers: the person's receipt."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="forgettings")
    counts = models.JSONField(default=dict)  # what -> how many
    by = models.CharField(max_length=12, default="person")  # person, staff
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.user_id} {self.at:%Y-%m-%d %H:%M}"


class MemoryAccess(models.Model):
    """One look of a staff member at a person's memories, for that person to see."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memory_accesses")
    staff = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    staff_name = models.CharField(max_length=150)  # as it was, should the account be gone
    action = models.CharField(max_length=20)  # listed, opened, edited, retired, restored, merged, forgot …
    count = models.PositiveIntegerField(default=1)  # memories seen or touched
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("look at memories")
        verbose_name_plural = _("looks at memories")
        ordering = ["-at"]
        indexes = [models.Index(fields=["user", "-at"])]

    def __str__(self) -> str:
        return f"{self.staff_name} {self.action} {self.count}"

    @property
    def words(self) -> str:
        """What was done, for the person."""
        done = {
            "listed": _("saw in a list"),
            "searched": _("found by a search"),
            "opened": _("opened"),
            "edited": _("corrected"),
            "retired": _("retired"),
            "restored": _("restored"),
            "merged": _("merged"),
            "unmerged": _("took apart again"),
            "forgot": _("forgot for good"),
        }.get(self.action, self.action)
        many = ngettext("%(n)d memory", "%(n)d memories", self.count) % {"n": self.count}
        return f"{done}: {many}"


class Document(models.Model):
    """A file the person gave the agent to read, in one conversation or in all of them."""

    class Status(models.TextChoices):
        READING = "reading", _("Being read")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Could not be read")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="documents")
    # Empty: it belongs to the account.
    conversation = models.ForeignKey(
        "chat.Conversation", models.CASCADE, null=True, blank=True, related_name="documents"
    )
    name = models.CharField(max_length=200)
    media_type = models.CharField(max_length=100)
    size = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)  # of its bytes: the same file twice is one document
    pages = models.PositiveIntegerField(default=0)
    chunks_total = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.READING)
    fault = models.CharField(max_length=300, blank=True)  # why it could not be read, in plain words
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["user", "conversation"])]

    def __str__(self) -> str:
        return self.name


class Chunk(Searchable):
    """One passage of a document, with the place it is from."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="chunks")
    document = models.ForeignKey(Document, models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()  # 1, 2, … within the document
    heading = models.CharField(max_length=300, blank=True)  # the headings above it
    page = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["document", "number"]
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="chunk_number")]
        indexes = [
            models.Index(fields=["user", "revision"]),
            models.Index(fields=["index_state", "user"]),  # the outbox
        ]

    def __str__(self) -> str:
        return f"{self.document_id} {self.number}"

"""What is intended, as rows: plans with revisions, steps, acceptance checks, conditions, exclusions.

Touches: nothing else. Rows point at the conversation by name; this room never imports chat.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Plan(models.Model):
    """One revision of the plan of a turn. The newest revision is the one in force."""

    class Author(models.TextChoices):
        AGENT = "agent", _("Agent")
        PERSON = "person", _("You")

    turn = models.ForeignKey("chat.Turn", models.CASCADE, related_name="plans")
    conversation = models.ForeignKey("chat.Conversation", models.CASCADE, related_name="plans")
    revision = models.PositiveIntegerField()
    goal = models.TextField()
    author = models.CharField(max_length=8, choices=Author.choices, default=Author.AGENT)
    reason = models.TextField(blank=True)  # why it was revised
    diff = models.JSONField(default=dict)  # against the revision before: kept, changed, added, removed, moved
    approved = models.BooleanField(default=True)  # False while the person is asked to look at it first
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["revision"]
        constraints = [models.UniqueConstraint(fields=["turn", "revision"], name="plan_revision")]

    def __str__(self) -> str:
        return f"revision {self.revision}: {self.goal[:60]}"


class Step(models.Model):
    """One item of a plan, about one tool call. Its key survives revisions."""

    class Status(models.TextChoices):
        PENDING = "pending", _("Pending")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        SKIPPED = "skipped", _("Skipped")

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="steps")
    key = models.CharField(max_length=12)
    index = models.PositiveIntegerField()  # 1, 2, …
    title = models.CharField(max_length=200)
    tools = models.JSONField(default=list)  # names of the tools it needs
    depends_on = models.JSONField(default=list)  # keys
    # Which branch it belongs to: {"condition": key, "branch": "yes" | "no"}; empty: it runs anyway.
    when = models.JSONField(default=dict)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.PENDING)
    attempts = models.PositiveIntegerField(default=0)  # failed tries
    iterations = models.PositiveIntegerField(default=0)  # iterations spent on it
    note = models.TextField(blank=True)  # why it failed or was skipped
    found = models.TextField(blank=True)  # what it brought, in one line

    class Meta:
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(fields=["plan", "key"], name="step_key"),
            models.UniqueConstraint(fields=["plan", "index"], name="step_index"),
        ]

    def __str__(self) -> str:
        return f"{self.index}. {self.title}"


class AcceptanceCheck(models.Model):
    """A test that a step is done, decided before the step starts."""

    class Kind(models.TextChoices):
        TOOL_SUCCEEDED = "tool_succeeded", _("Tool succeeded")
        RESULT_MATCHES = "result_matches", _("Result matches")
        SLOT_PRESENT = "slot_present", _("State is known")
        RECORD_EXISTS = "record_exists", _("It exists")
        USER_CONFIRMED = "user_confirmed", _("You confirmed it")
        JUDGE = "judge", _("Judged by the model")

    class Verdict(models.TextChoices):
        OPEN = "open", _("Open")
        PASSED = "passed", _("Passed")
        FAILED = "failed", _("Not passed")

    step = models.ForeignKey(Step, models.CASCADE, related_name="checks")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    params = models.JSONField(default=dict)  # tool, schema, slot, record, question: what the kind needs
    verdict = models.CharField(max_length=8, choices=Verdict.choices, default=Verdict.OPEN)
    reason = models.TextField(blank=True)  # in plain words
    evidence = models.TextField(blank=True)  # what the check read, cut
    call_id = models.UUIDField(null=True, blank=True)  # the tool call that the evidence is from

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.verdict}"


class Condition(models.Model):
    """An "if … otherwise …" of the goal: a narrow question, decided once, on evidence."""

    class Status(models.TextChoices):
        OPEN = "open", _("Not decided yet")
        YES = "yes", _("Yes")
        NO = "no", _("No")

    turn = models.ForeignKey("chat.Turn", models.CASCADE, related_name="conditions")
    key = models.CharField(max_length=12)
    question = models.CharField(max_length=300)  # yes or no
    then = models.CharField(max_length=300, blank=True)  # what follows if yes
    otherwise = models.CharField(max_length=300, blank=True)  # what follows if no
    rule = models.TextField(blank=True)  # the words of the goal that hold it
    decided_by = models.CharField(max_length=12, blank=True)  # key of the step whose evidence decides it
    status = models.CharField(max_length=5, choices=Status.choices, default=Status.OPEN)
    quote = models.TextField(blank=True)  # the evidence, verbatim
    how = models.CharField(max_length=10, blank=True)  # code, model or person
    iteration = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["turn", "key"], name="condition_key")]

    def __str__(self) -> str:
        return f"{self.question} {self.status}"

    @property
    def follows(self) -> str:
        """The branch in force; empty while the question is open."""
        return {"yes": self.then, "no": self.otherwise}.get(self.status, "")


class Exclusion(models.Model):
    """A hypothesis that was ruled out ("not channel A"): passed on to every later plan until lifted."""

    conversation = models.ForeignKey("chat.Conversation", models.CASCADE, related_name="exclusions")
    text = models.CharField(max_length=300)
    reason = models.TextField(blank=True)
    evidence = models.TextField(blank=True)
    author = models.CharField(max_length=8, choices=Plan.Author.choices, default=Plan.Author.AGENT)
    iteration = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    lifted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.text


class PlanTemplate(models.Model):
    """A finished plan kept for similar goals, with named blanks."""

    user = models.ForeignKey("auth.User", models.CASCADE, related_name="plan_templates")
    name = models.CharField(max_length=120)
    goal = models.TextField()  # with {blanks}
    steps = models.JSONField()  # [{"title", "tools", "after", "checks"}] with {blanks}
    blanks = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name

"""Outside tool servers (MCP) and what they offer, as rows.

Touches: nothing else.
"""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class McpServer(models.Model):
    """One server that staff registered: a program on this machine, or an address."""

    class Transport(models.TextChoices):
        STDIO = "stdio", _("A program on this machine")
        HTTP = "http", _("An address (streamable HTTP)")

    class Health(models.TextChoices):
        UNKNOWN = "unknown", _("Not tried yet")
        UP = "up", _("Working")
        DOWN = "down", _("Not reachable")

    # The first half of its tools' names; without "_", so that "a__b" says which server it is.
    name = models.CharField(_("name"), max_length=20, unique=True)
    transport = models.CharField(_("transport"), max_length=5, choices=Transport.choices, default=Transport.STDIO)
    command = models.JSONField(_("command"), default=list, blank=True)  # the program and its arguments
    url = models.CharField(_("address"), max_length=500, blank=True)
    # Name -> "env:NAME" or "sealed:…": variables of the program's environment, or headers of each request.
    secrets = models.JSONField(_("secrets"), default=dict, blank=True)
    enabled = models.BooleanField(_("enabled"), default=True)
    # Whether its own word that a tool only reads is believed; else every tool of it asks the person.
    trusted = models.BooleanField(_("trusted"), default=False)
    timeout = models.PositiveIntegerField(
        _("seconds for one call"), default=30, validators=[MinValueValidator(1), MaxValueValidator(280)]
    )
    health = models.CharField(_("health"), max_length=8, choices=Health.choices, default=Health.UNKNOWN)
    health_text = models.CharField(_("what was last seen"), max_length=300, blank=True)
    checked_at = models.DateTimeField(_("last seen at"), null=True, blank=True)
    # Grows with each change of what may be offered: another process sees by it that it must read anew.
    revision = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        verbose_name = _("MCP server")
        verbose_name_plural = _("MCP servers")

    def __str__(self) -> str:
        return self.name


class McpTool(models.Model):
    """One tool of a server: as it was last seen, and as staff accepted it. It is offered while both are the same."""

    server = models.ForeignKey(McpServer, models.CASCADE, related_name="tools", verbose_name=_("server"))
    name = models.CharField(_("name"), max_length=60)
    # {"description", "schema", "read_only", "repeatable"}
    seen = models.JSONField(_("as last seen"), default=dict)
    accepted = models.JSONField(_("as accepted"), null=True, blank=True)
    accepted_at = models.DateTimeField(_("accepted at"), null=True, blank=True)
    gone = models.BooleanField(_("no longer offered by the server"), default=False)
    unfit = models.CharField(_("why it cannot be used"), max_length=300, blank=True)

    class Meta:
        ordering = ["server__name", "name"]
        verbose_name = _("MCP tool")
        verbose_name_plural = _("MCP tools")
        constraints = [models.UniqueConstraint(fields=["server", "name"], name="mcp_tool_name")]

    def __str__(self) -> str:
        return self.full_name

    @property
    def full_name(self) -> str:
        return f"{self.server.name}__{self.name}"

    @property
    def offered(self) -> bool:
        return self.server.enabled and not self.gone and not self.unfit and self.accepted == self.seen

    @property
    def to_accept(self) -> bool:
        return not self.gone and not self.unfit and self.accepted != self.seen

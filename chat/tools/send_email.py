"""Send an e-mail through Django's e-mail settings, after approval.

to, subject, text -> sent.  Touches: the mail server.
"""

import asyncio
import smtplib
import socket

from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field, field_validator

from chat.errors import OutcomeUnknown, ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

# Said before the text was taken.
REFUSED = (
    smtplib.SMTPAuthenticationError,
    smtplib.SMTPConnectError,
    smtplib.SMTPHeloError,
    smtplib.SMTPNotSupportedError,
    smtplib.SMTPRecipientsRefused,
    smtplib.SMTPSenderRefused,
    smtplib.SMTPDataError,
)


class SendEmailArgs(Args):
    to: list[str] = Field(description="e-mail addresses", min_length=1, max_length=20)
    subject: str = Field(min_length=1, max_length=200)
    text: str = Field(min_length=1, max_length=50_000)

    @field_validator("to")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        for address in value:
            try:
                validate_email(address)
            except Exception as fault:
                raise ValueError(f"{address!r} is no e-mail address") from fault
        return value

    @field_validator("subject")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if any(char in value for char in "\r\n"):
            raise ValueError("the subject must be one line")
        return value


async def run(args: SendEmailArgs, ctx: ToolContext) -> Done:
    # A mail server that sees the same Message-ID twice can tell the copy from a second mail.
    headers = {"Message-ID": f"<{ctx.idempotency_key}@agentweb>"}
    message = EmailMessage(args.subject, args.text, to=args.to, headers=headers)
    try:
        await asyncio.to_thread(message.send)
    except (ConnectionRefusedError, socket.gaierror, *REFUSED) as fault:
        raise ToolFailed(
            "The mail server did not take the e-mail.", "It is down, or not set up.", "Tell the person."
        ) from fault
    except OSError as fault:  # it broke off on the way: smtplib's own faults are such too
        raise OutcomeUnknown("The mail server broke off. Nobody knows whether the e-mail was sent.") from fault
    return Done(data={"sent_to": args.to}, summary=f"Sent to {', '.join(args.to)}"[:200])


def _effect(args: SendEmailArgs) -> str:
    return _("Sends an e-mail to %(to)s") % {"to": ", ".join(args.to)}


CONTRACT = Contract(
    name="send_email",
    purpose="Send an e-mail.",
    not_for="telling the person something (finish)",
    args=SendEmailArgs,
    run=run,
    tier=Tier.WRITE,
    returns={"type": "object", "required": ["sent_to"]},
    returns_empty="never empty",
    failures=(FailureMode(when="the mail server refuses it", advice="tell the person"),),
    cost="free",
    latency="a second",
    timeout=30,
    pack="mail",
    effect=_effect,
    labels={"to": gettext_noop("To"), "subject": gettext_noop("Subject"), "text": gettext_noop("Text")},
)

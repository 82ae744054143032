"""The date and time.

time zone -> now.  Touches: the clock.
"""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils import timezone
from pydantic import Field

from chat.errors import ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext


class NowArgs(Args):
    time_zone: str = Field("", description="IANA name, e.g. Asia/Shanghai; empty: the server's", max_length=60)


async def run(args: NowArgs, ctx: ToolContext) -> Done:
    try:
        zone = ZoneInfo(args.time_zone) if args.time_zone else timezone.get_current_timezone()
    except (ZoneInfoNotFoundError, ValueError, OSError) as fault:
        raise ToolFailed(
            f"{args.time_zone!r} is no time zone.", next="Use an IANA name such as Asia/Shanghai.", mend=True
        ) from fault
    now = timezone.now().astimezone(zone)
    text = now.strftime("%A %Y-%m-%d %H:%M %Z")
    return Done(data={"now": now.isoformat(timespec="seconds"), "weekday": now.strftime("%A")}, summary=text, text=text)


CONTRACT = Contract(
    name="now",
    purpose="Tell the date and time.",
    not_for="dates that the task names already",
    args=NowArgs,
    run=run,
    tier=Tier.READ,
    returns={"type": "object", "required": ["now"], "properties": {"now": {"type": "string"}}},
    returns_empty="never empty",
    failures=(FailureMode(when="the time zone is unknown", advice="use an IANA name"),),
    cost="free",
    latency="milliseconds",
    repeatable=True,
)

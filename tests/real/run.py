"""Run the tasks against a real model through the whole loop, approving every write, and print the success rates.

    OPENAI_BASE_URL=http://127.0.0.1:8080/v1 AGENT_MODEL=qwen-1.5b python -m tests.real.run --runs 10

endpoint -> a table.  Touches: a data directory of its own, thrown away afterwards.
"""

import argparse
import asyncio
import collections
import os
import sys
import tempfile
import time

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")
os.environ["AGENT_DATA_DIR"] = tempfile.mkdtemp(prefix="agentweb-real-")

import django

django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command

from chat import turns
from chat.db import in_db
from chat.models import Approval, Conversation, Message, ToolCall, Turn
from chat.runner import Runner
from tests.real.tasks import TASKS, Task

PATIENCE = 300  # seconds for one run


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--task", action="append", help="only these (default: all)")
    parser.add_argument("--show", action="store_true", help="print every iteration")
    chosen = parser.parse_args()
    await in_db(call_command, "migrate", verbosity=0)
    user = await in_db(User.objects.create_user, "real")
    runner = Runner()
    await runner.start()
    print("| task | right | iterations (mean) | seconds (mean) | failures |\n|---|---|---|---|---|", flush=True)
    for task in TASKS:
        if not chosen.task or task.name in chosen.task:
            await measure(user, task, chosen.runs, chosen.show)
    await runner.stop()


async def measure(user: User, task: Task, runs: int, show: bool) -> None:
    right, iterations, seconds = 0, 0, 0.0
    failures: collections.Counter[str] = collections.Counter()
    for _run in range(runs):
        started = time.monotonic()
        turn = await play(user, task)
        seconds += time.monotonic() - started
        fault = await in_db(fault_of, task, turn)
        iterations += turn.iterations_used
        right += not fault
        if fault:
            failures[fault] += 1
        if show:
            await in_db(tell, turn)
    why = "; ".join(f"{fault} ({count})" for fault, count in failures.items())
    print(f"| {task.name} | {right}/{runs} | {iterations / runs:.1f} | {seconds / runs:.0f} | {why} |", flush=True)


async def play(user: User, task: Task) -> Turn:
    """One turn in a conversation of its own; every approval is granted as it is asked."""
    conversation = await in_db(Conversation.objects.create, user=user)
    message = await in_db(turns.say, user, conversation.id, task.text)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        turn = await in_db(Turn.objects.get, id=message.turn_id)
        if not turn.is_open or turn.status == Turn.Status.WAITING_USER:
            break
        asked = await in_db(lambda: list(Approval.objects.filter(turn_id=message.turn_id, status="asked")))
        for approval in asked:
            await in_db(turns.decide_approval, user, approval.id, grant=True)
        await asyncio.sleep(0.1)
    if turn.is_open:
        await in_db(turns.stop, user, turn.id)
    return await in_db(Turn.objects.get, id=message.turn_id)


def fault_of(task: Task, turn: Turn) -> str:
    """Empty when the task was done; else the kind of failure."""
    ran = list(turn.calls.filter(status=ToolCall.Status.SUCCEEDED, tier="write"))
    if turn.end != Turn.End.FINISHED:
        return f"not finished: {turn.gate or turn.end or turn.status}"
    if len(ran) != 1:
        return f"{len(ran)} writes"
    call = ran[0]
    wrong = [f"{name}={call.args.get(name)!r}" for name, value in task.args.items() if call.args.get(name) != value]
    return f"{call.tool} with {', '.join(wrong)}" if call.tool != task.tool or wrong else ""


def tell(turn: Turn) -> None:
    for iteration in turn.iterations.prefetch_related("calls"):
        used = f"{iteration.prompt_tokens}+{iteration.reply_tokens} tokens, {iteration.model_ms / 1000:.1f} s"
        print(f"  {iteration.number} [{iteration.outcome}] {used} {iteration.reason}", file=sys.stderr)
        for call in iteration.calls.all():
            print(f"     {call.tool} {call.args or call.proposed} -> {call.status} {call.summary}", file=sys.stderr)
            if call.status in {"refused", "failed"}:
                print(f"        {call.text}", file=sys.stderr)
        for note in iteration.notes:
            print(f"     note: {note}", file=sys.stderr)
    for message in turn.messages.exclude(role=Message.Role.USER):
        print(f"  {message.role}: {message.text}", file=sys.stderr)
    print(f"  {turn.end} {turn.gate} {turn.reason}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main())

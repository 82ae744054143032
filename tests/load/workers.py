"""Many turns on two worker processes, one of which is killed half way: every turn once, in order, no two at once.

    scripts/with-services.sh --throwaway .venv/bin/python -m tests.load.workers --turns 500 --iterations 10

number of turns, iterations, conversations -> what was found in the rows.  Touches: PostgreSQL, Redis, two workers, an
endpoint on a port that answers at once.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")
os.environ |= {"AGENT_RUNNER": "scaled"}

import django

django.setup()

import argparse
import itertools
import json
import re
import time
from collections import Counter
from typing import Any

from django.contrib.auth.models import User

from agentweb.prepare import migrate
from chat import conversations, turns
from chat.llm.scripted import call
from chat.models import Conversation, Iteration, Message, ToolCall, Turn
from tests.stories.scripts import finish, plan
from tests.support.endpoint import playing
from tests.support.worker import WorkerProcess

NTH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def sums(count: int) -> Any:
    """A plan, `count` sums, an answer. It keeps nothing: what is still to do is read off the request."""

    def policy(body: dict[str, Any]) -> dict[str, Any]:
        seen = json.dumps(body["messages"])
        turn = max(int(number) for number in re.findall(r"the sums of (\d+)", seen))  # later turns have higher numbers
        left = [text for text in (f"{turn + nth} + 1" for nth in range(count)) if text not in seen]
        if left and not any(tool["function"]["name"] == "calculate" for tool in body["tools"]):
            return plan(*((f"Work out the {nth} sum", "calculate") for nth in NTH[:count]))
        return call("calculate", expression=left[0]) if left else finish("All worked out.")

    return policy


def play(count: int, iterations: int, places: int, kill: bool) -> None:
    user = User.objects.create_user("many")
    rooms = [conversations.create(user) for _place in range(places)]
    with playing(sums(iterations - 2)) as endpoint:
        workers = [WorkerProcess(endpoint.url), WorkerProcess(endpoint.url)]
        began = time.monotonic()
        killed, said = 0.0, 0
        waiting = itertools.cycle(rooms)
        while (ended := Turn.objects.filter(status=Turn.Status.ENDED).count()) < count:
            busy = set(Turn.objects.exclude(status=Turn.Status.ENDED).values_list("conversation_id", flat=True))
            for room in itertools.islice(waiting, places):
                if said < count and room.id not in busy:
                    turns.say(user, room.id, f"Work out the sums of {10_000 + said * 10}.")
                    said += 1
            if kill and not killed and ended >= count // 2:
                workers[0].kill()
                killed = time.monotonic()
            time.sleep(0.2)
        took = time.monotonic() - began
        for worker in workers:
            worker.kill()
    report(iterations, took, len(endpoint.asked))


def report(iterations: int, took: float, asked: int) -> None:
    ended = Turn.objects.filter(status=Turn.Status.ENDED)
    numbers = Counter(
        tuple(Iteration.objects.filter(turn=turn).order_by("number").values_list("number", flat=True)) for turn in ended
    )
    answers = Counter(Message.objects.filter(turn=turn, role="agent").count() for turn in ended)
    overlaps = 0
    for room in Conversation.objects.all():
        spans = list(Iteration.objects.filter(turn__conversation=room).order_by("turn__number", "number"))
        overlaps += sum(one.ended_at is None or two.started_at < one.ended_at for one, two in itertools.pairwise(spans))
    print(f"turns {ended.count()}, ends {dict(Counter(ended.values_list('end', flat=True)))}, in {took:.0f} s")
    print(
        f"answers per turn {dict(answers)}; turns with the iterations 1 to {iterations}: {numbers[tuple(range(1, iterations + 1))]}"
    )
    print(f"other iterations {[(list(seen), many) for seen, many in numbers.items() if len(seen) != iterations]}")
    print(f"iterations of one conversation that overlap or stand out of order: {overlaps}")
    print(
        f"turns taken up after a crash {ended.filter(crashes__gt=0).count()}, crashes at most {max(ended.values_list('crashes', flat=True))}"
    )
    print(f"calls {dict(Counter(ToolCall.objects.values_list('status', flat=True)))}; requests {asked}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--no-kill", action="store_true")
    chosen = parser.parse_args()
    migrate()
    play(chosen.turns, chosen.iterations, chosen.conversations, not chosen.no_kill)


if __name__ == "__main__":
    main()

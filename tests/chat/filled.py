"""A conversation with something in every panel, for tests of what is drawn from rows.

User -> Conversation.  Touches: rows.
"""

import uuid

from django.contrib.auth.models import User

from chat.models import Conversation, Iteration, Message, ToolCall, Turn
from memory.models import MemoryRecord, SlotChange, StateSlot
from planning.models import AcceptanceCheck, Condition, Exclusion, Plan, Step


def fill(user: User, text: str = "", iterations: int = 3) -> Conversation:
    """A conversation with something in every panel; `text` stands in every field that others write."""
    conversation = Conversation.objects.create(user=user, title=(text or "Two nights in Xi'an")[:200])
    turn = Turn.objects.create(
        conversation=conversation,
        number=1,
        goal=text or "Two nights",
        status=Turn.Status.RUNNING,
        iterations_used=iterations,
    )
    message = Message.objects.create(conversation=conversation, turn=turn, role="user", text=text or "Two nights")
    for revision in (1, 2):
        plan = Plan.objects.create(
            turn=turn, conversation=conversation, revision=revision, goal=turn.goal, reason=text or "No suite was free."
        )
        titles = ["Check the weather", "Find hotels", "Book the room"][: revision + 1]
        for index, title in enumerate(titles, 1):
            step = Step.objects.create(
                plan=plan,
                key=f"s{index}",
                index=index,
                title=(text or title)[:200],
                tools=["get_weather"],
                note=text,
                depends_on=["s1"] if index == 3 else [],
                status=["done", "running", "pending"][index - 1],
            )
            passed = {
                "verdict": "passed",
                "reason": text or "get_weather returned a condition",
                "evidence": text or "rain",
            }
            AcceptanceCheck.objects.create(
                step=step, kind="tool_succeeded", params={"tool": "get_weather"}, **(passed if index == 1 else {})
            )
    Condition.objects.create(
        turn=turn,
        key="c1",
        question=(text or "It rains")[:300],
        then="suite",
        otherwise="standard",
        decided_by="s1",
        status="yes",
        quote=text or "rain, 14 °C",
        iteration=2,
        how="code",
    )
    Exclusion.objects.create(
        conversation=conversation, text=(text or "Grand Tang Hotel")[:300], reason=text or "no suite free", iteration=3
    )
    record = MemoryRecord.objects.create(
        user=user,
        kind="preference",
        text=text or "Prefers quiet rooms",
        conversation=conversation,
        source={"by": "person", "message": message.pk, "turn": str(turn.pk)},
    )
    MemoryRecord.objects.create(
        user=user, kind="howto", text=text or "Look at the weather first", status="review", conversation=conversation
    )
    receipt = [
        {
            "id": str(record.pk),
            "text": record.text,
            "score": 0.81,
            "semantic": 0.5,
            "lexical": 0.2,
            "recency": 0.05,
            "confidence": 0.06,
            "fate": "shown",
            "source": text or "you said so on 12 May",
        },
        {"id": str(uuid.uuid4()), "text": text or "Company card", "score": 0.2, "fate": "below_floor", "source": ""},
    ]
    for number in range(1, iterations + 1):
        row = Iteration.objects.create(
            turn=turn,
            number=number,
            receipt=receipt,
            thought=text,
            notes=[text or "noted"],
            model_ms=900,
            own_ms=20,
            sections=[
                {"name": "plan", "text": f"{text}step {number}", "tokens": 9, "kept": True, "rule": ""},
                {"name": "window", "text": text, "tokens": 0, "kept": False, "rule": text or "no room left"},
            ],
            changes={
                "memory": [{"status": "dropped", "text": text or "It rains", "reason": text or "a passing thing"}]
            },
            raw={"text": text},
            outcome="continue",
            offered=["get_weather"],
        )
        ToolCall.objects.create(
            iteration=row,
            turn=turn,
            index=0,
            tool="get_weather",
            tier="read",
            status="succeeded",
            args={"city": text or "Xi'an"},
            result={"condition": text or "rain"},
            summary=(text or "Rain")[:300],
            traceback="File secret.py",
            digest="d",
        )
    StateSlot.objects.create(
        conversation=conversation,
        name="nights",
        kind="constraint",
        value=2,
        set_by="agent",
        iteration=iterations,
        turn=turn,
    )
    StateSlot.objects.create(
        conversation=conversation,
        name="hotel",
        kind="entity",
        value={"id": text or "XA-204", "price": 980},
        set_by="agent",
        iteration=1,
        turn=turn,
    )
    SlotChange.objects.create(
        conversation=conversation,
        name="nights",
        before=None,
        after={"kind": "constraint", "value": 2},
        by="agent",
        iteration=1,
    )
    return conversation

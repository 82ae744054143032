"""An endpoint that is down is left alone, looked at again and taken back; one that asks to wait is waited for, by all.

Touches: nothing; a clock and an endpoint that are played.
"""

import asyncio
from typing import Any

import pytest

from chat.errors import LLMUnavailable
from chat.llm.base import Request
from chat.llm.circuit import FAULTS, LONGEST_OPEN, OPEN_SECONDS, Circuit
from chat.llm.faults import Fault
from chat.llm.openai_api import OpenAILLM
from chat.llm.wire import PolicyTransport

DOWN, BUSY, BROKEN = (Fault(message="", kind=kind) for kind in ("down", "busy", "broken"))  # type: ignore[arg-type]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def circuit(*faults: Fault) -> tuple[Circuit, Clock]:
    clock = Clock()
    made = Circuit(where="example.org", clock=clock)
    for fault in faults:
        made.failed(fault)
    return made, clock


@pytest.mark.parametrize(
    ("faults", "is_open"),
    [
        ([DOWN] * (FAULTS - 1), False),
        ([DOWN] * FAULTS, True),
        ([DOWN] * (FAULTS - 1) + [BUSY, DOWN], False),
        ([DOWN] * (FAULTS - 1) + [BROKEN, DOWN], True),
        ([BROKEN] * 20, False),
    ],
)
def test_it_opens_after_faults_in_a_row(faults: list[Fault], is_open: bool) -> None:
    made, _clock = circuit(*faults)
    if is_open:
        with pytest.raises(LLMUnavailable, match=f"{FAULTS} times in a row; it is tried again in 10 s"):
            made.admit()
    else:
        assert made.admit() == 0


def test_one_is_let_through_to_see_and_closes_it() -> None:
    made, clock = circuit(*[DOWN] * FAULTS)
    clock.now += OPEN_SECONDS
    assert made.admit() == 0
    with pytest.raises(LLMUnavailable):
        made.admit()
    made.answered()
    assert made.admit() == 0


def test_it_stays_open_for_longer_each_time_and_never_for_ever() -> None:
    made, clock = circuit(*[DOWN] * FAULTS)
    for pause in (10, 20, 40, 80, 120, 120):
        for _late in range(3):  # requests that were under way when it opened
            made.failed(DOWN)
        clock.now += pause - 1
        with pytest.raises(LLMUnavailable):
            made.admit()
        clock.now += 1
        assert made.admit() == 0
        made.failed(DOWN)
    assert made.next_try - clock.now == LONGEST_OPEN


def test_a_look_that_never_comes_back_is_given_up() -> None:
    made, clock = circuit(*[DOWN] * FAULTS)
    clock.now += OPEN_SECONDS
    made.admit()
    clock.now += 31
    assert made.admit() == 0


# ---- through the gateway ---------------------------------------------------------------------------


def asked(policy: Any) -> OpenAILLM:
    return OpenAILLM(base_url="http://example.org/v1", model="m", transport=PolicyTransport(policy))


REQUEST = Request(messages=({"role": "user", "content": "hi"},), max_tokens=50)


async def test_a_turn_is_told_at_once_while_the_endpoint_is_left_alone(settings: Any) -> None:
    settings.AGENT_LLM_RETRIES = 0
    llm = asked(lambda body: {"status": 500, "error": {"message": "boom"}})
    for _ in range(FAULTS):
        with pytest.raises(LLMUnavailable, match="boom"):
            await llm.reply(REQUEST)
    with pytest.raises(LLMUnavailable, match="tried again in") as fault:
        await llm.reply(REQUEST)
    assert "Send again" in fault.value.what_to_do
    assert len(llm.transport.bodies) == FAULTS  # type: ignore[union-attr]


async def test_all_wait_when_one_was_asked_to_and_the_person_hears_of_it() -> None:
    busy = [True]

    def policy(body: Any) -> Any:
        if busy:
            busy.clear()
            return {"status": 429, "headers": {"retry-after": "0.3"}, "error": {"message": "slow down"}}
        return "Here."

    llm, notices = asked(policy), list[str]()
    first = asyncio.create_task(llm.reply(REQUEST, on_notice=notices.append))
    while llm.circuit.admit() == 0:
        await asyncio.sleep(0.001)
    second = asyncio.create_task(llm.reply(REQUEST, on_notice=notices.append))
    assert [reply.text for reply in await asyncio.gather(first, second)] == ["Here.", "Here."]
    assert len(llm.transport.bodies) == 3  # type: ignore[union-attr]  # the second one was not sent into the wait
    assert notices == ["The model's endpoint asks to wait 1 s."] * 2


async def test_an_endpoint_that_asks_for_too_much_is_given_up() -> None:
    llm = asked(lambda body: {"status": 429, "headers": {"retry-after": "61"}, "error": {"message": "slow down"}})
    with pytest.raises(LLMUnavailable, match="slow down"):
        await llm.reply(REQUEST)
    assert len(llm.transport.bodies) == 1  # type: ignore[union-attr]

"""A server that does everything wrong, and the chat beside it that goes on.

Touches: rows; a real MCP server as a process; whole turns through the websocket.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chat import turns
from chat.db import in_db
from chat.errors import ModelMistake, Refused, ToolFailed
from chat.llm.scripted import ScriptedLLM, call
from chat.mcp import clean, servers
from chat.mcp import client as sessions
from chat.mcp import tools as mcp_tools
from chat.mcp.types import Listed
from chat.models import McpServer, McpTool
from chat.tools import arguments, registry
from chat.tools.contract import Contract, Done, Tier, ToolContext
from tests.stories.scripts import finish, plan
from tests.stories.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)
PROGRAM = str(Path(__file__).parents[1] / "support" / "mcp_server.py")


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_tools, "_known", mcp_tools._Known())


@pytest.fixture(autouse=True)
async def _sessions_close() -> AsyncIterator[None]:
    yield
    await sessions.close()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "saved"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    return tmp_path / "changed"


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    return ToolContext(
        user_id=1, conversation_id=uuid4(), turn_id=uuid4(), iteration=1, idempotency_key="k", workspace=tmp_path
    )


def register(saved: Path, changed: Path, name: str = "trouble", **more: Any) -> McpServer:
    """A server whose tools are listed and accepted."""
    command = (sys.executable, PROGRAM, "--saved", str(saved), "--changed", str(changed))
    server = servers.add(name, command=command, **{"timeout": 10, "trusted": True} | more)
    servers.refresh(server.id)
    accept(server)
    return server


def accept(server: McpServer) -> None:
    for tool in server.tools.all():
        if tool.to_accept:
            servers.accept(tool.id, servers.digest_of(tool.seen))


@pytest.fixture
def server(saved: Path, changed: Path) -> McpServer:
    return register(saved, changed)


def found(name: str) -> Contract:
    contract = mcp_tools.contracts().get(f"trouble__{name}")
    assert contract is not None
    return contract


async def run(name: str, ctx: ToolContext, **args: Any) -> Done:
    contract = await in_db(found, name)
    return await contract.run(args, ctx)


# ---- what is offered -------------------------------------------------------------------------------------


def test_nothing_is_offered_before_staff_have_accepted_it(saved: Path, changed: Path) -> None:
    server = servers.add("trouble", command=(sys.executable, PROGRAM))
    said = servers.refresh(server.id)
    assert "trouble__echo" not in registry.business() and "15 to accept" in said
    accept(server)
    assert registry.business()["trouble__echo"].purpose == "Say the same again."
    servers.withdraw(McpTool.objects.get(name="echo").id)
    assert registry.find("trouble__echo") is None


def test_only_a_trusted_server_is_believed_that_a_tool_reads(server: McpServer, saved: Path, changed: Path) -> None:
    register(saved, changed, "stranger", trusted=False)
    tools = registry.business()
    tiers = {name: tools[name].tier for name in ("trouble__echo", "trouble__save", "stranger__echo", "stranger__save")}
    assert tiers == {
        "trouble__echo": Tier.READ,
        "trouble__save": Tier.WRITE,
        "stranger__echo": Tier.WRITE,
        "stranger__save": Tier.WRITE,
    }


def test_a_badly_named_tool_is_listed_with_the_reason_and_never_offered(server: McpServer) -> None:
    row = McpTool.objects.get(name="bad.name")
    assert "letters" in row.unfit
    with pytest.raises(Refused):
        servers.accept(row.id, servers.digest_of(row.seen))
    assert registry.find("trouble__bad.name") is None


def test_a_changed_schema_must_be_accepted_anew(server: McpServer, changed: Path) -> None:
    changed.touch()
    servers.refresh(server.id)
    row = McpTool.objects.get(name="echo")
    assert row.to_accept and registry.find("trouble__echo") is None and registry.find("trouble__save")
    with pytest.raises(Refused, match="changed again"):
        servers.accept(row.id, servers.digest_of(row.accepted or {}))  # what was shown before
    servers.accept(row.id, servers.digest_of(row.seen))
    assert "password" in found("echo").schema()["properties"]


async def test_a_change_between_two_sessions_is_seen_before_the_call(
    saved: Path, changed: Path, ctx: ToolContext
) -> None:
    await in_db(register, saved, changed)
    contract = await in_db(found, "echo")
    await contract.run({"text": "a"}, ctx)
    await sessions.close()
    changed.touch()
    with pytest.raises(ToolFailed, match="not what it was when it was accepted"):
        await contract.run({"text": "a"}, ctx)
    assert await in_db(lambda: McpTool.objects.get(name="echo").to_accept)
    assert await in_db(registry.find, "trouble__echo") is None


def test_a_tool_that_is_gone_is_not_offered_and_comes_back_only_as_it_was() -> None:
    server = servers.add("s", command=("x",))
    one, other = Listed(name="t", description="one", schema={}), Listed(name="t", description="other", schema={})
    servers.saw(server.id, [one])
    accept(server)
    for listed, offered in (([one], True), ([], False), ([one], True), ([other], False), ([one], True)):
        servers.saw(server.id, listed)
        assert (registry.find("s__t") is not None) is offered


def test_another_process_sees_a_change_by_the_revision(server: McpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.find("trouble__echo")
    monkeypatch.setattr(servers, "changes", lambda: mcp_tools._known.changes)  # as if another process had made it
    McpServer.objects.filter(id=server.id).update(enabled=False, revision=server.revision + 1)
    assert registry.find("trouble__echo")  # at most a second old
    mcp_tools._known.looked -= mcp_tools.EVERY
    assert registry.find("trouble__echo") is None


def test_the_table_is_asked_once_a_second_at_most(server: McpServer) -> None:
    registry.business()
    with CaptureQueriesContext(connection) as queries:
        for _time in range(100):
            registry.business()
            registry.find("trouble__echo")
    assert len(queries) <= 1


# ---- hostile words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"$ref": "http://169.254.169.254/latest"}, "outside"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "outside"),
        ({"properties": {"a" * 200: {}}}, "shown"),
        ({"properties": {"a\u202eb": {}}}, "shown"),
        ({"properties": {f"a{n}": {"description": "x" * 500} for n in range(50)}}, "long"),
        ("text", "object"),
        (None, "object"),
        (
            {
                "$defs": {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 8} for n in range(8)},
                "properties": {"a": {"$ref": "#/$defs/d0"}},
            },
            "many parts",
        ),
    ],
)
def test_a_hostile_schema_makes_the_tool_unfit(given: Any, why: str) -> None:
    with pytest.raises(clean.Unfit, match=why):
        clean.tool("s", Listed(name="t", schema=given))


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}, "n": {"type": ["integer", "null"]}}}
    found = clean.schema({"$defs": {"node": node}, "properties": {"root": {"$ref": "#/$defs/node"}}})
    assert found["properties"]["root"]["properties"]["child"] == {}
    assert "$ref" not in json.dumps(found)


def test_what_could_never_end_or_misleads_is_left_out_of_a_schema() -> None:
    found = clean.schema(
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "pattern": "(a+)+$", "minLength": -1, "description": "x\u200b\x00" + "y" * 999},
                "b": {"type": "wrong", "minimum": "1", "enum": []},
                "c": True,
            },
            "required": ["a", 3, "nowhere"],
            "patternProperties": {"(a+)+$": {}},
        }
    )
    assert found["properties"] == {"a": {"type": "string", "description": "x" + "y" * 298 + "…"}, "b": {}, "c": {}}
    assert found["required"] == ["a"]


@pytest.mark.parametrize("name", ["", "a b", "a.b", "x" * 61, "naïve", "a\n", "__proto__;drop", "a/../b"])
def test_a_name_of_other_than_letters_digits_and_dashes_is_refused(name: str) -> None:
    with pytest.raises(clean.Unfit):
        clean.tool("s", Listed(name=name, schema={}))


def test_a_description_is_cut_and_hides_nothing() -> None:
    told = clean.tool("s", Listed(name="t", description="a\u202e\x00b\U000e0041" + "x" * 5_000, schema={}))
    assert told["description"].startswith("abx") and len(told["description"]) == clean.DESCRIPTION


# ---- arguments -------------------------------------------------------------------------------------------


def test_arguments_are_mended_and_explained_by_the_servers_schema(server: McpServer) -> None:
    mended = arguments.effective(found("save"), {"text": "a", "copies": "2"})
    assert mended.args == {"text": "a", "copies": 2} and mended.notes
    with pytest.raises(ModelMistake) as fault:
        arguments.effective(found("save"), {"copies": "many"})
    assert "text" in str(fault.value) and "copies" in str(fault.value)


def test_the_card_says_what_is_called_on_which_server(server: McpServer) -> None:
    effect = found("save").effect
    assert effect is not None and effect({}) == "Calls save of trouble"


# ---- calls -----------------------------------------------------------------------------------------------


async def test_answers_of_all_kinds_are_words(saved: Path, changed: Path, ctx: ToolContext) -> None:
    await in_db(register, saved, changed)
    assert (await run("chinese", ctx)).text == "你好，世界"
    assert (await run("nul", ctx)).text == "beforeafter[31mred"
    shown = (await run("picture", ctx)).text
    assert "image/png" in shown and "https://example.org/report" in shown and "aGVsbG8" not in shown
    assert [path.read_bytes() for path in (ctx.workspace / "trouble").iterdir()] == [b"hello"]
    assert "trouble/2cf24dba5fb0.png" in shown
    flood = await run("flood", ctx)
    assert "left out" in flood.text and len(json.dumps(flood.data)) < 110_000
    with pytest.raises(ToolFailed, match="failed") as refused:
        await run("refuse", ctx)
    assert "There is no such city" in refused.value.quoted


async def test_a_server_that_dies_in_a_call_is_started_again_by_the_next(
    saved: Path, changed: Path, ctx: ToolContext
) -> None:
    server = await in_db(register, saved, changed)
    began = time.monotonic()
    with pytest.raises(ToolFailed, match="does not work"):
        await run("die", ctx)
    assert time.monotonic() - began < 8
    assert (await in_db(McpServer.objects.get, id=server.id)).health == "down"
    assert (await run("echo", ctx, text="again")).text == "again"
    assert (await in_db(McpServer.objects.get, id=server.id)).health == "up"


@pytest.mark.parametrize("tool", ["hang", "chatter", "endless"])
async def test_a_server_that_hangs_or_floods_costs_its_time_and_no_more(
    saved: Path, changed: Path, ctx: ToolContext, tool: str
) -> None:
    server = await in_db(register, saved, changed)
    await run("echo", ctx, text="started")
    await in_db(lambda: McpServer.objects.filter(id=server.id).update(timeout=2))
    late = asyncio.create_task(lateness())
    began = time.monotonic()
    with pytest.raises(ToolFailed):
        await run(tool, ctx)
    assert time.monotonic() - began < 6
    await in_db(lambda: McpServer.objects.filter(id=server.id).update(timeout=10))
    assert (await run("echo", ctx, text="again")).text == "again"
    late.cancel()
    assert max(LATE) < 0.5  # the loop that serves every chat was never held up


LATE: list[float] = []


async def lateness() -> None:
    LATE[:] = [0.0]
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.02)
        LATE.append(time.monotonic() - began - 0.02)


@pytest.mark.parametrize("spec", [{"command": ("/nowhere/at-all",)}, {"url": "http://127.0.0.1:9/mcp"}, {"command": (sys.executable, "-c", "print('no')")}])  # fmt: skip
def test_a_server_that_is_not_there_is_said_in_words(spec: dict[str, Any]) -> None:
    server = servers.add("absent", **spec)
    began = time.monotonic()
    said = servers.refresh(server.id)
    server.refresh_from_db()
    assert server.health == "down" and server.health_text == said and said.startswith(("It ", "The program"))
    assert time.monotonic() - began < 15 and "Traceback" not in said
    assert registry.business()


def test_staff_read_why_a_program_does_not_start_and_its_secrets_stay_hidden() -> None:
    says = "import os, sys; sys.exit('no such table for ' + os.environ['TOKEN'])"
    server = servers.add("absent", command=(sys.executable, "-c", says), secrets={"TOKEN": "hush hush"})
    assert servers.refresh(server.id) == "It ended. no such table for •••"


async def test_two_servers_with_the_same_tool_are_both_called(saved: Path, changed: Path, ctx: ToolContext, tmp_path: Path) -> None:  # fmt: skip
    await in_db(register, saved, changed)
    await in_db(register, tmp_path / "other", changed, "second")
    tools = await in_db(registry.business)
    await tools["trouble__save"].run({"text": "one"}, ctx)
    await tools["second__save"].run({"text": "two"}, ctx)
    assert (saved.read_text(), (tmp_path / "other").read_text()) == ("one x1\n", "two x1\n")


async def test_callers_that_give_up_at_random_leave_no_task_and_no_process(
    saved: Path, changed: Path, ctx: ToolContext
) -> None:
    await in_db(register, saved, changed)
    await run("echo", ctx, text="started")
    before = asyncio.all_tasks()
    callers = [asyncio.create_task(run("echo", ctx, text=str(n))) for n in range(50)]
    for n, caller in enumerate(callers):
        await asyncio.sleep(0)
        if n % 3 == 0:
            caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    assert (await run("echo", ctx, text="still")).text == "still"
    await sessions.close()
    assert not {task for task in asyncio.all_tasks() - before if "mcp" in task.get_name()}


async def test_a_server_that_is_switched_off_is_not_called(saved: Path, changed: Path, ctx: ToolContext) -> None:
    server = await in_db(register, saved, changed)
    contract = await in_db(found, "save")
    await in_db(lambda: McpServer.objects.filter(id=server.id).update(enabled=False))
    with pytest.raises(ToolFailed, match="Nothing was done"):
        await contract.run({"text": "a"}, ctx)
    assert not saved.exists()


# ---- secrets ---------------------------------------------------------------------------------------------


def test_a_secret_is_sealed_and_opened_only_for_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTSIDE", "from outside")
    server = servers.add("s", command=("x",), secrets={"TOKEN": "hush hush", "OTHER": "env:OUTSIDE"})
    server.refresh_from_db()
    assert "hush" not in json.dumps(server.secrets)
    spec = servers.spec(server.id)
    assert dict(spec.secrets) == {"TOKEN": "hush hush", "OTHER": "from outside"} and "hush" not in repr(spec)


def test_a_secret_under_another_key_is_said_in_words(settings: Any) -> None:
    server = servers.add("s", command=("x",), secrets={"TOKEN": "hush"})
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another"
    assert "Enter it again" in servers.refresh(server.id)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert servers.spec(server.id).secrets["TOKEN"] == "hush"


@pytest.mark.parametrize(
    "given",
    [
        {"name": "a__b", "command": ("x",)},
        {"name": "A", "command": ("x",)},
        {"name": "a"},
        {"name": "a", "command": ("x",), "url": "http://b/"},
        {"name": "a", "url": "ftp://b/"},
        {"name": "a", "url": "http://user:word@b/"},
        {"name": "a", "command": ("x",), "secrets": {"A B": "x"}},
        {"name": "a", "command": ("x",), "secrets": {"A": "x\r\nHost: evil"}},
    ],
)
def test_a_registration_that_cannot_be_right_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        servers.add(given.pop("name"), **given)
    assert not McpServer.objects.exists()


# ---- whole turns -----------------------------------------------------------------------------------------


async def test_a_write_of_a_server_runs_once_after_approval(alice: User, saved: Path, changed: Path) -> None:
    await in_db(register, saved, changed)
    script = [plan(("Save it", "trouble__save")), call("trouble__save", text="tea", copies="2"), finish("Saved.")]
    async with Stage(alice, ScriptedLLM(script)) as stage:
        turn = await stage.say("Save tea twice")
        approval = await stage.asked(turn)
        assert approval.tier == "write" and not saved.exists()
        await stage.decide(approval, grant=True)
        turn = await stage.ended(turn)
        calls = [row.status for row in await stage.calls(turn) if row.tool == "trouble__save"]
    assert (turn.end, calls, saved.read_text()) == ("finished", ["succeeded"], "tea x2\n")


async def test_a_server_that_dies_in_an_approved_write_leaves_it_to_the_person(
    alice: User, saved: Path, changed: Path
) -> None:
    await in_db(register, saved, changed)
    script = [
        plan(("Save it", "trouble__save_and_die")),
        call("trouble__save_and_die", text="tea"),
        finish("It is saved."),
    ]
    async with Stage(alice, ScriptedLLM(script)) as stage:
        turn = await stage.say("Save tea")
        await stage.decide(await stage.asked(turn), grant=True)
        row = await stage.row(lambda: turn.calls.filter(tool="trouble__save_and_die", status="unknown").first(), turn)
        assert "Whether it was done is not known" in row.text
        await stage.until(turn, "waiting_approval")
        await in_db(turns.settle_unknown, alice, row.id, "happened")
        assert (await stage.ended(turn)).end == "finished"
    assert saved.read_text() == "tea\n"


async def test_what_a_server_asks_is_asked_of_the_person_and_their_answer_passed_on(
    alice: User, saved: Path, changed: Path
) -> None:
    await in_db(register, saved, changed)
    script = [
        plan(("Order tea", "trouble__order")),
        call("trouble__order", what="tea"),
        call("ask_user", question="trouble asks: Which size do you want? (size: small / large)"),
        call("trouble__order", what="tea"),
        finish("A large tea is ordered."),
    ]
    llm = ScriptedLLM(script)
    async with Stage(alice, llm) as stage:
        turn = await stage.say("Order tea")
        await stage.decide(await stage.asked(turn), grant=True)
        await stage.until(turn, "waiting_user")
        first = (await stage.calls(turn))[1]
        assert first.status == "failed" and "Which size do you want? (size: small / large)" in first.text
        assert not saved.exists()
        await stage.say("Large")
        await stage.decide(await stage.asked(turn), grant=True)  # a write asks each time
        turn = await stage.ended(turn)
    assert (turn.end, saved.read_text()) == ("finished", "tea large\n")


async def test_the_model_does_not_answer_in_the_persons_place(alice: User, saved: Path, changed: Path) -> None:
    await in_db(register, saved, changed)
    order = call("trouble__order", what="tea", size="large", answer="large")
    script = [plan(("Order tea", "trouble__order")), order, order, finish("It asks.")]
    async with Stage(alice, ScriptedLLM(script)) as stage:
        turn = await stage.say("Which size do you want? large")
        await stage.row(lambda: turn.calls.filter(tool="trouble__order").exclude(text="").first(), turn)
    assert not saved.exists()


async def test_progress_is_shown_and_stop_reaches_the_server(alice: User, saved: Path, changed: Path) -> None:
    await in_db(register, saved, changed)
    script = [plan(("Count", "trouble__slow")), call("trouble__slow"), finish("Counted.")]
    async with Stage(alice, ScriptedLLM(script)) as stage:
        turn = await stage.say("Count")
        told = "trouble__slow: Counting 25 %"
        await stage.row(lambda: [one for one in stage.events if one.get("text") == told] or None, turn)
        began = time.monotonic()
        await in_db(turns.stop, alice, turn.id)
        turn = await stage.ended(turn)
        assert time.monotonic() - began < 2
        await stage.row(lambda: saved.exists() or None)
    assert (turn.end, saved.read_text()) == ("stopped", "cancelled")


async def test_a_server_that_dies_in_a_read_fails_the_call_and_the_chat_goes_on(
    alice: User, saved: Path, changed: Path
) -> None:
    await in_db(register, saved, changed)
    script = [
        plan(("Look it up", "trouble__die"), ("Say it", "trouble__echo")),
        call("trouble__die"),
        call("trouble__echo", text="still here"),
        finish("still here"),
    ]
    async with Stage(alice, ScriptedLLM(script)) as stage:
        turn = await stage.say("Look it up")
        failed = await stage.row(lambda: turn.calls.filter(tool="trouble__die", status="failed").first(), turn)
        assert "does not work" in failed.text and failed.traceback
        await stage.row(lambda: turn.calls.filter(tool="trouble__echo").first(), turn)


# ---- the admin -------------------------------------------------------------------------------------------

ADD = "admin:chat_mcpserver_add"
FORM = {"name": "trouble", "command_line": f"{sys.executable} {PROGRAM}", "url": "", "timeout": "10", "trusted": "on", "enabled": "on"}  # fmt: skip


@pytest.fixture
def staff(client: Client, db: None) -> Client:
    """May look and accept, and register nothing."""
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__model__in=["mcpserver", "mcptool"]))
    client.force_login(user)
    return client


def page(client: Client, name: str, *args: Any, **query: str) -> str:
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == 200, response
    return response.content.decode()


def act(client: Client, model: str, action: str, *ids: int) -> Any:
    return client.post(
        reverse(f"admin:chat_{model}_changelist"), {"action": action, "_selected_action": ids}, follow=True
    )


def test_a_server_is_registered_refreshed_and_accepted_on_the_pages(client: Client, admin: User) -> None:
    client.force_login(admin)
    posted = client.post(reverse(ADD), {**FORM, "new_secrets": "TOKEN=hush hush\nOTHER=env:OUTSIDE"})
    assert posted.status_code == 302, posted.content.decode()[-3_000:]
    server = McpServer.objects.get()
    assert server.command == [sys.executable, PROGRAM] and set(server.secrets) == {"TOKEN", "OTHER"}
    change = page(client, "admin:chat_mcpserver_change", server.id)
    assert "hush" not in change and server.secrets["TOKEN"] not in change and "env:OUTSIDE" in change
    assert "The variable OUTSIDE is not set" in act(client, "mcpserver", "refresh", server.id).content.decode()
    client.post(reverse("admin:chat_mcpserver_change", args=[server.id]), {**FORM, "new_secrets": "OTHER="})
    server.refresh_from_db()
    assert set(server.secrets) == {"TOKEN"}
    act(client, "mcpserver", "refresh", server.id)
    shown = act(client, "mcpserver", "accept", server.id)
    assert "Say the same again." in shown.content.decode()
    ticked = [f"{row['row'].id}:{row['digest']}" for row in shown.context["rows"] if row["row"].name == "echo"]
    client.post(reverse("admin:chat_mcptool_accept"), {"tool": ticked})
    assert registry.find("trouble__echo") and registry.find("trouble__save") is None
    assert "trouble__echo" in page(client, "admin:chat_mcptool_changelist")
    act(client, "mcptool", "withdraw", McpTool.objects.get(name="echo").id)
    assert registry.find("trouble__echo") is None
    client.post(reverse("admin:chat_mcpserver_delete", args=[server.id]), {"post": "yes"})
    assert not McpTool.objects.exists()


def test_what_changed_after_it_was_shown_is_not_accepted(staff: Client, server: McpServer, changed: Path) -> None:
    row = McpTool.objects.get(name="echo")
    shown = servers.digest_of(row.seen)
    changed.touch()
    servers.refresh(server.id)
    diff = page(staff, "admin:chat_mcptool_accept", ids=str(row.id))
    assert "+" in diff and "password" in diff
    staff.post(reverse("admin:chat_mcptool_accept"), {"tool": [f"{row.id}:{shown}", "x:y", "999999:z"]})
    assert registry.find("trouble__echo") is None


def test_staff_look_and_accept_but_register_nothing(staff: Client, server: McpServer) -> None:
    assert "trouble__echo" in page(staff, "admin:chat_mcpserver_change", server.id)
    assert staff.get(reverse(ADD)).status_code == 403
    assert staff.post(reverse(ADD), FORM).status_code == 403
    change = reverse("admin:chat_mcpserver_change", args=[server.id])
    assert staff.post(change, {**FORM, "command_line": "evil"}).status_code == 403
    assert staff.post(reverse("admin:chat_mcpserver_delete", args=[server.id]), {"post": "yes"}).status_code == 403


def test_who_may_not_change_tools_accepts_none(client: Client, server: McpServer) -> None:
    client.force_login(User.objects.create_user("viewer", is_staff=True))
    assert client.post(reverse("admin:chat_mcptool_accept"), {"tool": "1:x"}).status_code == 403


def test_the_servers_own_words_are_text_on_the_pages(staff: Client) -> None:
    server = servers.add("s", command=("x",))
    servers.saw(server.id, [Listed(name="t", description="<script>window.bad=1</script>", schema={})])
    row = McpTool.objects.get()
    for shown in (
        page(staff, "admin:chat_mcptool_accept", ids=str(row.id)),
        page(staff, "admin:chat_mcptool_change", row.id),
        page(staff, "admin:chat_mcpserver_change", server.id),
    ):
        assert "<script>window" not in shown


def test_a_secret_that_is_misspelt_is_not_taken(client: Client, admin: User) -> None:
    client.force_login(admin)
    answer = client.post(reverse(ADD), {**FORM, "new_secrets": "hush hush"})
    assert answer.status_code == 200 and "Each line must be NAME=value." in answer.content.decode()
    assert not McpServer.objects.exists()

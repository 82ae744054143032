"""The files of one conversation: list and read freely, write and delete after approval.

path, text -> files in the conversation's own folder.  Touches: that folder only.
"""

import difflib
import os
import unicodedata
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import Field, field_validator

from chat.errors import ToolFailed
from chat.tools.contract import Args, Contract, Done, FailureMode, Tier, ToolContext

MAX_BYTES = 1_000_000  # of one file
MAX_KEPT = 5_000_000  # of a picture or file that a server returned
MAX_FILES = 200
SHOWN_CHARS = 20_000


class NoArgs(Args):
    pass


class PathArgs(Args):
    path: str = Field(description="e.g. notes.txt", min_length=1, max_length=200)

    @field_validator("path")
    @classmethod
    def _inside(cls, value: str) -> str:
        """Refuse whatever could leave the folder; the resolved path is checked again before use."""
        parts = Path(value.replace("\\", "/")).parts
        strange = any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in value)
        long = any(len(part.encode("utf-8", "replace")) > 120 for part in parts)
        if value.startswith(("/", "~", "\\")) or ".." in parts or strange or long or value.startswith("."):
            raise ValueError("a plain path inside the conversation's folder is needed, such as notes.txt")
        return value.replace("\\", "/")


class WriteArgs(PathArgs):
    content: str = Field(description="the whole text of the file", max_length=MAX_BYTES)


async def list_files(args: NoArgs, ctx: ToolContext) -> Done:
    files = [{"path": str(p.relative_to(ctx.workspace)), "bytes": p.stat().st_size} for p in _files(ctx.workspace)]
    return Done(data={"files": files}, summary=f"{len(files)} files" if len(files) != 1 else "1 file")


async def read_file(args: PathArgs, ctx: ToolContext) -> Done:
    path = resolve(ctx.workspace, args.path)
    if not path.is_file():
        names = ", ".join(str(p.relative_to(ctx.workspace)) for p in _files(ctx.workspace)[:20]) or "none"
        raise ToolFailed(f"There is no file {args.path!r}.", f"Files: {names}.", "Read one of these.", mend=True)
    if path.stat().st_size > MAX_BYTES:
        raise ToolFailed(f"{args.path} is larger than {MAX_BYTES:,} bytes.", next="Tell the person.")
    text = path.read_bytes().decode("utf-8", "replace").replace("\0", "")
    data = {"path": args.path, "text": text[:SHOWN_CHARS], "characters": len(text)}
    return Done(data=data, summary=f"{args.path}, {len(text):,} characters", text=text[:SHOWN_CHARS])


async def write_file(args: WriteArgs, ctx: ToolContext) -> Done:
    """Replaces the file in one move, so that a reader never sees half of it."""
    path = resolve(ctx.workspace, args.path)
    if path.is_dir():
        raise ToolFailed(f"{args.path} is a folder.", next="Choose another name.", mend=True)
    if not path.exists() and len(_files(ctx.workspace)) >= MAX_FILES:
        raise ToolFailed(f"The folder holds {MAX_FILES} files already.", next="Delete one first.")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{ctx.idempotency_key[:8]}")
    draft.write_text(args.content, encoding="utf-8")
    os.replace(draft, path)
    data = {"path": args.path, "bytes": path.stat().st_size}
    return Done(data=data, summary=f"Saved {args.path}, {data['bytes']:,} bytes")


async def delete_file(args: PathArgs, ctx: ToolContext) -> Done:
    path = resolve(ctx.workspace, args.path)
    if not path.is_file():
        raise ToolFailed(f"There is no file {args.path!r}.", next="Look with list_files.", mend=True)
    path.unlink()
    return Done(data={"path": args.path, "deleted": True}, summary=f"Deleted {args.path}")


def folder(conversation_id: UUID) -> Path:
    """Where the files of a conversation are; it may not exist yet."""
    return Path(settings.AGENT_DATA_DIR) / "files" / str(conversation_id)


def saved(conversation_id: UUID) -> list[tuple[str, int]]:
    """Names and sizes, for the page."""
    root = folder(conversation_id)
    return [(path.relative_to(root).as_posix(), path.stat().st_size) for path in _files(root)] if root.is_dir() else []


def keep(workspace: Path, name: str, data: bytes) -> bool:
    """Keep what a tool returned beside its text; False when there is no room. `name` is made by code."""
    path = resolve(workspace, name)
    if len(data) > MAX_KEPT or (not path.exists() and len(_files(workspace)) >= MAX_FILES):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.part")
    draft.write_bytes(data)
    os.replace(draft, path)
    return True


def resolve(workspace: Path, name: str) -> Path:
    """The real path, links followed; raises ToolFailed when it leaves the folder."""
    root = workspace.resolve()
    path = (root / name).resolve()
    if path == root or root not in path.parents:
        raise ToolFailed(f"{name!r} is outside the conversation's folder.", next="Use a plain name such as notes.txt.")
    return path


def _files(workspace: Path) -> list[Path]:
    found = (path for path in workspace.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in found if not path.name.startswith("."))


def _preview_write(args: WriteArgs, ctx: ToolContext) -> str:
    """A unified diff against what is there."""
    path = resolve(ctx.workspace, args.path)
    old = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    names = (_("%(path)s now") % {"path": args.path}, _("%(path)s then") % {"path": args.path})
    lines = difflib.unified_diff(old, args.content.splitlines(), *names, lineterm="")
    return "\n".join(list(lines)[:200])


def _effect_write(args: WriteArgs) -> str:
    return _("Saves %(path)s") % {"path": args.path}


def _effect_delete(args: PathArgs) -> str:
    return _("Deletes %(path)s for good") % {"path": args.path}


def _object(*required: str) -> dict[str, Any]:
    return {"type": "object", "required": list(required)}


MISSING = (FailureMode(when="the file does not exist", advice="look with list_files"),)

CONTRACTS = (
    Contract(
        name="list_files", purpose="List the saved files of this conversation.", not_for="their contents (read_file)",
        args=NoArgs, run=list_files, tier=Tier.READ, returns=_object("files"), returns_empty='{"files": []}: none is saved',
        failures=(FailureMode(when="the disk cannot be read", advice="tell the person"),), cost="free",
        latency="milliseconds", repeatable=True, pack="files",
    ),
    Contract(
        name="read_file", purpose="Read one saved file.", not_for="web pages (fetch_page)", args=PathArgs, run=read_file,
        tier=Tier.READ, returns=_object("text"), returns_empty='{"text": ""}: the file is empty', failures=MISSING,
        cost="free", latency="milliseconds", repeatable=True, pack="files",
        checks=({"kind": "result_matches", "schema": _object("text")},),
    ),
    Contract(
        name="write_file", purpose="Save a text file, replacing what it held.", not_for="lasting facts about the person (remember)",
        args=WriteArgs, run=write_file, tier=Tier.WRITE, returns=_object("path", "bytes"), returns_empty="never empty",
        failures=(FailureMode(when="the path is not allowed", advice="use a plain name such as notes.txt"),), cost="free",
        latency="milliseconds", repeatable=True, pack="files", effect=_effect_write, preview=_preview_write,
        labels={"path": gettext_noop("File"), "content": gettext_noop("Text")}, checks=({"kind": "result_matches", "schema": _object("path", "bytes")},),
    ),
    Contract(
        name="delete_file", purpose="Delete one saved file.", not_for="forgetting a memory (forget_memory)", args=PathArgs,
        run=delete_file, tier=Tier.WRITE, returns=_object("deleted"), returns_empty="never empty", failures=MISSING,
        cost="free", latency="milliseconds", pack="files", effect=_effect_delete, labels={"path": gettext_noop("File")},
    ),
)  # fmt: skip

"""What a client over HTTP may ask: the tools of its token, its projects, and nothing that is of this machine.

The wall behind the gate. Reads go through a fenced reader, so that a learning of
another project is one that nobody has; writes stay in the client's projects; and
an error says nothing that the client could not have read.
"""

import json
import os
import re
from typing import Any

import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, Tool

from ledger import settings, sql, sql_fence
from ledger.errors import BadArgument, Damaged, FileFault, GuardFailed, LedgerError, NotAllowed, NotFound
from ledger.fence import within
from ledger.model import EVERYWHERE, TRUST_AGENT, Actor
from ledger.tokens import TOOLS, Token
from mcp_server.recall_tool import NAME as RECALL
from mcp_server.recall_tool import NOTHING
from mcp_server.server import FAULT, Desk, answered, noted, refused, told
from mcp_server.tools import Session

CLIENT = "learnings.client"
"""The key of a request's scope under which its client stands."""

SHUT = "the ledger cannot be used now (fault {fault}); nothing was done; whoever runs it finds the fault in its log"

KEYWORDS_MAX, KEYWORD_CHARS = 40, 60
"""Most keywords that a recall may bring, and the length of each."""

SESSION = r"[A-Za-z0-9._-]{1,64}"

WITHHELD_OF_LIMITED = ("explain",)
"""Arguments that a client of some projects may not use: they count over the whole ledger."""

_ID = r"lrn_[a-z2-7]{8,26}"


class Desks:
    """Answers the requests of all clients: one desk for each token, as it stands when it is used."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._desks: dict[str, Guest] = {}

    async def list_tools(
        self, ctx: "ServerRequestContext[Any, Any]", params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Answer `tools/list` with what the client may use."""
        return await self._desk(ctx).list_tools(ctx, params)

    async def call_tool(self, ctx: "ServerRequestContext[Any, Any]", params: CallToolRequestParams) -> CallToolResult:
        """Answer `tools/call`."""
        return await self._desk(ctx).call_tool(ctx, params)

    def _desk(self, ctx: "ServerRequestContext[Any, Any]") -> "Guest":
        assert ctx.request is not None
        token: Token = ctx.request.scope[CLIENT]
        desk = self._desks.get(token.id)
        if desk is None or desk.token != token:
            desk = self._desks[token.id] = Guest(self._path, token)
        return desk


def session_of(path: str, token: Token) -> Session:
    """Return the session of a client: what it wrote under this token is its own, and it has a project if it has one."""
    actor = Actor("agent", "mcp", min(TRUST_AGENT, token.trust), f"http-{token.id}")
    project = token.projects[0] if len(token.projects) == 1 and token.projects[0] != EVERYWHERE else None
    return Session(path, project, actor, fence=token.projects, is_remote=True)


class Guest(Desk):
    """The desk of one client."""

    def __init__(self, path: str, token: Token) -> None:
        super().__init__(session_of(path, token))
        self.token = token
        self._files = {name: file for name, file in self._files.items() if name in token.tools}
        self._offered = ListToolsResult(tools=[Tool.model_validate(file) for file in self._files.values()])

    async def list_tools(
        self, ctx: "ServerRequestContext[Any, Any]", params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Answer `tools/list`."""
        return self._offered

    async def call_tool(self, ctx: "ServerRequestContext[Any, Any]", params: CallToolRequestParams) -> CallToolResult:
        """Answer `tools/call`: with a document, or with a sentence that names nothing out of reach."""
        given = params.arguments or {}
        try:
            if params.name == RECALL:
                return told(await self._recalled(given))
            checked = self._gate(params.name).checked(given)
            await anyio.to_thread.run_sync(self._check, params.name, checked)
            return answered(await self._document(ctx, params.name, checked))
        except (FileFault, Damaged, GuardFailed) as error:
            return refused(SHUT.format(fault=noted(_known(params.name), error)))
        except LedgerError as error:
            return refused(await anyio.to_thread.run_sync(self._walled, str(error), json.dumps(given)))
        except Exception as error:  # noqa: BLE001 - the last wall before the wire
            return refused(FAULT.format(fault=noted(_known(params.name), error)))

    # -- what it may ask ---------------------------------------------------------------------------------------------

    def _check(self, name: str, given: dict[str, Any]) -> None:
        """Refuse what the schema lets through and this client may not.

        Raises:
            BadArgument, NotAllowed, NotFound: nothing was done.
        """
        if self.token.is_limited and not given.keys().isdisjoint(WITHHELD_OF_LIMITED):
            raise BadArgument("explain is for clients of every project; nothing was done", "ask without it")
        if name == "record_learning":
            self._may_write([given.get("project") or self._session.project or EVERYWHERE])
        elif name == "supersede_learning":
            old = [given["old"]] if isinstance(given["old"], str) else given["old"]
            self._may_write([*self._projects_of(old), *([given["project"]] if given.get("project") else [])])
        elif name == "retract_learning":
            self._may_write(self._projects_of([given["id"]]))
        elif name == "undo":
            self._may_undo(given["seq"])

    def _may_write(self, projects: list[str]) -> None:
        """Refuse projects that are not the client's; one that there is not answers like one of somebody else."""
        if not self.token.is_limited:
            return
        allowed = set(self.token.projects)
        if os.path.exists(self._session.path):
            with self._session.reading() as reader:
                allowed = within(reader, self.token.projects)
        if EVERYWHERE not in self.token.projects:
            allowed -= {EVERYWHERE}
        if not allowed.issuperset(projects):
            raise NotAllowed(
                "this client may not write there; nothing was written",
                "its projects are: " + ", ".join(self.token.projects),
            )

    def _projects_of(self, asked: list[str]) -> list[str]:
        """Return the projects of learnings; those out of reach are left to the tool, which finds none of them."""
        from mcp_server.tools import _whole

        if not self.token.is_limited:
            return []
        with self._session.reading() as reader:
            names = [_whole(self._session, reader, one) for one in asked]
            return [str(reader.get([name])[0].project) for name in names]

    def _may_undo(self, seq: int) -> None:
        with self._session.reading() as reader:
            own = reader.rows(sql_fence.OWN_EVENT, {"seq": seq, "actor": self._session.actor.id})
        if not own:
            raise NotFound(f"no event {seq} of this client is known; nothing was done", "seqs are in what a write says")

    def _walled(self, text: str, given: str) -> str:
        """Return a refusal without the ids that this client has not named and cannot see."""
        unknown = {name for name in re.findall(_ID, text) if name not in given} if self.token.is_limited else set()
        if not unknown:
            return text
        with self._session.reading() as reader:
            seen = {name for name in unknown if self._is_seen(reader, name)}
        return re.sub(_ID, lambda found: "another learning" if found[0] in unknown - seen else found[0], text)

    def _is_seen(self, reader: Any, name: str) -> bool:
        return bool(reader.rows(sql.SEQ_OF, {"id": name}))

    def _run(self, name: str, session: Session, given: dict[str, Any]) -> dict[str, Any]:
        document = super()._run(name, session, given)
        if "remarks" in document:
            document["remarks"] = [self._walled(text, json.dumps(given)) for text in document["remarks"]]
        if name == "ledger_status" and self.token.is_limited and "settings" in document:
            document["settings"] = []  # other projects stand in them
        return document

    # -- recall ------------------------------------------------------------------------------------------------------

    async def _recalled(self, given: dict[str, Any]) -> str:
        """Return the JSON that a prompt's hook prints, for keywords that were drawn from the prompt where it was typed.

        Raises:
            BadArgument: it is not allowed, or anything but keywords came, a prompt above all.
        """
        if RECALL not in self.token.tools:
            self._gate(RECALL)
        words, session, project = given.get("keywords"), given.get("session_id"), given.get("project")
        are_words = (
            isinstance(words, list)
            and len(words) <= KEYWORDS_MAX
            and all(isinstance(word, str) and 0 < len(word) <= KEYWORD_CHARS for word in words)
        )
        is_session = session is None or (isinstance(session, str) and re.fullmatch(SESSION, session) is not None)
        is_project = project is None or (isinstance(project, str) and len(project) <= 200)
        if given.keys() - {"keywords", "session_id", "project"} or not (are_words and is_session and is_project):
            raise BadArgument(
                "over HTTP a recall is given keywords and never a prompt; nothing was looked for",
                "the arguments are: keywords (a list of short texts), session_id, project",
            )
        assert isinstance(words, list)
        return await anyio.to_thread.run_sync(self._recall_by, words, session, project or self._session.project)

    def _recall_by(self, words: list[str], session: str | None, project: str | None) -> str:
        from ledger.home import machine_of
        from ledger.recall import Recall

        with self._session.reading() as reader:
            if settings.is_off(reader.rows(sql.SETTINGS, {}), machine_of(reader.path), project):
                return NOTHING
            recall = Recall(reader, "mcp")
            try:
                own = None if session is None else f"http-{self.token.id}-{session}"
                found = recall.recall(" ".join(words), own, project)
            finally:
                recall.close()
        if not found.text:
            return NOTHING
        said = {"hookEventName": "UserPromptSubmit", "additionalContext": found.text}
        return json.dumps({"hookSpecificOutput": said}, ensure_ascii=False)


def _known(name: str) -> str:
    """Return a tool's name for the log, which no client may write."""
    return name if name in TOOLS else "a tool"

"""Look at what goes over HTTP: servers that a client reaches with a token, and the tokens of this ledger.

No server is called: whether one answers is seen in the client. What fails
without a word is looked at: the program that prints the token, the token's
file, and tokens that end.
"""

import os
import shlex
from collections.abc import Iterator

from ledger import tokens
from ledger.doctor_check import DAY_S, Around, Check, broken, fine, listed, many, remark
from ledger.doctor_client import Server
from ledger.errors import FileFault, UnsafePlace

ENDS_S = 14 * DAY_S
"""How long before its end a token is spoken of: time to give its client another one."""


def checks(around: Around, servers: tuple[Server, ...]) -> Iterator[Check]:
    """Yield the check `http`, when a server is reached over it or this ledger has tokens."""
    made = tokens.load(around.file)
    if not servers and not made:
        return
    faults = [f"{one.where}: {fault}" for one in servers for fault in _faults(around, one)]
    if faults:
        yield broken(
            "http",
            f"{listed(faults)}; that client is let in nowhere: nothing is recalled, the ledger is untouched; make a "
            "token with `learnings token create NAME --save FILE` where the server runs, and run `learnings setup "
            "claude-code --http URL --token-file FILE` again",
        )
        return
    now, soon = tokens.time_text(around.now), tokens.time_text(around.now + ENDS_S)
    live = [one for one in made if one.state(now) == "live"]
    ending = [f"{one.name} ({one.id}) on {one.expires_at[:10]}" for one in live if one.expires_at <= soon]
    reached = [f"{one.entry['url']} is reached with a token and was not called" for one in servers]
    own = [f"this ledger lets in {many(len(live), 'token')}"] if made else []
    if ending:
        yield remark("http", f"a token ends soon: {listed(ending)}; make its client another one (`learnings token`)")
    else:
        yield fine("http", listed([*reached, *own]))


def _faults(around: Around, server: Server) -> Iterator[str]:
    """Yield what keeps a client from sending its token."""
    words = shlex.split(server.entry["headersHelper"])
    program, path = words[0], words[-1]
    if not (os.path.isfile(program) and os.access(program, os.X_OK)):
        yield f"{around.shown(program)} is gone"
    try:
        tokens.check_private(os.lstat(path), around.shown(path))
    except (UnsafePlace, FileFault) as error:
        yield error.message.partition(";")[0]
    except OSError as error:
        yield f"{around.shown(path)}: {(error.strerror or type(error).__name__).lower()}"

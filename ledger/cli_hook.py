"""`learnings hook EVENT`: what `hook_main.py` does, through the normal entry point, for people and other hosts."""

from ledger.cli_call import Arg, Call, Result, command, prompt_text
from ledger.hook import EVENTS, run
from ledger.hook_main import files_of, is_wanted, parsed, project_of


@command(Arg("event", "the event: " + ", ".join(EVENTS) + "; any other is answered by nothing"))
def hook(call: Call) -> Result:
    """Read the client's JSON on standard input and print the JSON it reads, or nothing; a fault prints nothing."""
    given = prompt_text("-").encode("utf-8", "surrogateescape")
    if not is_wanted(call.given.event, given):
        return Result({"said": ""}, list, is_exact=True)
    try:
        payload = parsed(given)
    except ValueError:
        payload = {}
    said = run(call.given.event, payload, call.env, call.file, project_of, files_of=files_of)
    return Result({"said": said}, said.splitlines, is_exact=True)

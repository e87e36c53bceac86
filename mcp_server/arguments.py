"""Check a tool's arguments in our own words.

The SDK checks nothing, and jsonschema's messages quote the value, which may be
a secret: here a message names the argument and says what it may be.
"""

import json
import os
import re
from typing import Any

from jsonschema import Draft202012Validator

from ledger.errors import BadArgument
from ledger.model import schema_path

GREATEST_SEQ = 2**53 - 1
"""Upper bound of a seq in the schemas; a person need not be told it."""


def tool_files() -> dict[str, dict[str, Any]]:
    """Return the tools of `schema/tools/` by name: what `tools/list` sends, in the order of their names."""
    folder = os.path.dirname(schema_path("tools", "undo.json"))
    tools = {}
    for file in sorted(os.listdir(folder)):
        if file.endswith(".json"):
            with open(os.path.join(folder, file), encoding="utf-8") as opened:
                tool = json.load(opened)
            tools[tool["name"]] = tool
    return tools


class Gate:
    """The argument check of one tool; the validator is made once (a one-shot check costs 50 times more)."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._validator = Draft202012Validator(schema)

    def checked(self, given: dict[str, Any] | None) -> dict[str, Any]:
        """Return the arguments, whole numbers as `int` (JSON Schema lets 5.0 pass for 5).

        Raises:
            BadArgument: naming every fault at once, and never a value.
        """
        arguments = given or {}
        faults = self._faults(arguments)
        if faults:
            known = ", ".join(self._schema["properties"]) or "none"
            raise BadArgument("; ".join(faults) + "; nothing was done", f"the arguments are: {known}")
        return {key: int(value) if isinstance(value, float) else value for key, value in arguments.items()}

    def _faults(self, arguments: dict[str, Any]) -> list[str]:
        properties = self._schema["properties"]
        wrong = {error.absolute_path[0] for error in self._validator.iter_errors(arguments) if error.absolute_path}
        unknown = [name for name in arguments if name not in properties]
        missing = [name for name in self._schema.get("required", ()) if name not in arguments]
        return (
            [f"{_shown(name)} is not an argument" for name in unknown]
            + [f"{name} is missing" for name in missing]
            + [f"{name} must be {expected(properties[name])}" for name in properties if name in wrong]
        )


def _shown(name: str) -> str:
    """Return an unknown argument's name, unless it could be anything but a name."""
    return name if re.fullmatch("[a-z_]{1,40}", name) else "something given"


def expected(schema: dict[str, Any]) -> str:
    """Say in words what a property's schema lets through."""
    if "anyOf" in schema:
        return " or ".join(expected(part) for part in schema["anyOf"])
    if "enum" in schema:
        return "one of: " + ", ".join(schema["enum"])
    if "pattern" in schema:
        return "an id (lrn_ and 8 to 26 of a-z, 2-7" + (", or a turn's uuid)" if "|" in schema["pattern"] else ")")
    if schema["type"] == "array":
        return f"a list of {schema.get('minItems', 0)} to {schema['maxItems']} items, each {expected(schema['items'])}"
    if schema["type"] == "string":
        return f"a text of at most {schema['maxLength']:,} characters"
    if schema["type"] == "boolean":
        return "true or false"
    most = schema["maximum"]
    return f"a whole number from {schema['minimum']}" + ("" if most == GREATEST_SEQ else f" to {most}")

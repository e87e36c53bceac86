"""`learnings setup claude-code --http`: what Claude Code is told of a server elsewhere, and how that is taken back."""

import json
from pathlib import Path

import pytest
from command import Inside, Shell

from ledger import setup_clients as clients
from ledger.cli_setup import is_safe
from ledger.tokens import is_token

URL = "https://ledger.example/mcp"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder with no client in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "XDG_DATA_HOME", "LEARNINGS_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(home: Path, capfd: pytest.CaptureFixture[str]) -> Inside:
    """Return the command in this process."""
    return Inside(Shell(home), lambda: tuple(capfd.readouterr()))  # type: ignore[arg-type,return-value]


@pytest.fixture
def token(home: Path, run: Inside) -> Path:
    """Return a file with a token."""
    saved = home / "my token"
    run.document("token", "create", "laptop", "--save", str(saved))
    return saved


def held(home: Path) -> tuple[dict[str, object], dict[str, object]]:
    """Return our entry of the client's servers, and its settings."""
    servers = json.loads((home / ".claude.json").read_text())["mcpServers"]
    settings = home / ".claude" / "settings.json"
    return servers["learnings"], json.loads(settings.read_text()) if settings.exists() else {}


def test_the_client_is_told_an_address_and_who_knows_the_token(home: Path, run: Inside, token: Path) -> None:
    """No token in a setting, no hook that would send a prompt, and nothing is left when it is taken out."""
    before = {path for path in home.rglob("*") if path.is_file()}

    run.document("setup", "claude-code", "--http", URL, "--token-file", str(token), "--allow-tools")
    again = run.document("setup", "claude-code", "--http", URL, "--token-file", str(token), "--allow-tools")
    entry, settings = held(home)
    run.document("setup", "claude-code", "--uninstall")

    assert entry.keys() == {"type", "url", "headersHelper"}
    assert (entry["type"], entry["url"]) == ("http", URL)
    assert str(entry["headersHelper"]).endswith(f"-P -m ledger.cli token headers '{token}'")
    assert settings == {"permissions": {"allow": ["mcp__learnings"]}}
    assert not any(is_token(word) for word in json.dumps([entry, settings]).replace('"', " ").split())
    assert {file["state"] for file in again["files"]} == {"unchanged"}
    assert {path for path in home.rglob("*") if path.is_file()} == before


def test_a_server_here_gives_way_to_one_elsewhere_and_comes_back(home: Path, run: Inside, token: Path) -> None:
    """The hooks of the one here go with it: that of a prompt would call the other by the same name."""
    theirs = {"hooks": [{"type": "command", "command": "their hook"}]}
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"Stop": [theirs]}}))

    run.document("setup", "claude-code")
    run.document("setup", "claude-code", "--http", URL, "--token-file", str(token))
    entry, away = held(home)
    run.document("setup", "claude-code")
    back, here = held(home)
    run.document("setup", "claude-code", "--uninstall")

    assert entry["type"] == "http"
    assert away == {"hooks": {"Stop": [theirs]}}
    assert back["type"] == "stdio"
    assert "url" not in back
    assert "UserPromptSubmit" in here["hooks"]  # type: ignore[operator]
    assert json.loads(settings.read_text()) == {"hooks": {"Stop": [theirs]}}
    assert not (home / ".claude.json").exists()


def test_setup_refuses_what_would_not_work_or_tell_the_token(home: Path, run: Inside, token: Path) -> None:
    """An address in the clear, half of what is needed, another client, a file that holds no token."""
    other = home / "other"
    other.write_text("x")
    other.chmod(0o600)
    wrong = [
        ("claude-code", "--http", "http://ledger.example/mcp", "--token-file", str(token)),
        ("claude-code", "--http", URL),
        ("claude-code", "--token-file", str(token)),
        ("cursor", "--http", URL, "--token-file", str(token)),
        ("claude-code", "--http", URL, "--token-file", str(other)),
        ("claude-code", "--http", URL, "--token-file", str(home / "none")),
    ]

    codes = [run("setup", *words).code for words in wrong]

    assert codes == [15, 15, 15, 15, 10, 16]
    assert not (home / ".claude.json").exists()


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://ledger.example/mcp", True),
        ("https://ledger.example:8443/mcp", True),
        ("http://127.0.0.1:8765/mcp", True),
        ("http://localhost:8765/mcp", True),
        ("http://[::1]:8765/mcp", True),
        ("http://127.0.0.1.evil:8765/mcp", False),
        ("http://ledger.example/mcp", False),
        ("http://user@127.0.0.1/mcp", False),
        ("https://x/mcp?a=b", False),
        ("https://[x/mcp", False),
        ("https:///mcp", False),
        ("ftp://127.0.0.1/mcp", False),
        ("https://a b/mcp", False),
        ("", False),
    ],
)
def test_a_token_is_sent_over_tls_or_to_this_machine(url: str, safe: bool) -> None:
    """Every other address is none."""
    assert is_safe(url) is safe


def test_only_what_setup_writes_counts_as_ours() -> None:
    """Another helper, or none, is its owner's."""
    program, remote = clients.Program("/py", "/hook_main.py"), clients.Remote(URL, "/home/me/a token")

    assert clients.is_remote_server(clients.remote_server(program, remote))
    for helper in ({}, {"headersHelper": "/py -m other headers x"}, {"headersHelper": "'"}, {"headersHelper": 7}):
        assert not clients.is_remote_server({"type": "http", "url": URL, **helper})

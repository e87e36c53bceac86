"""`learnings token` and `learnings serve --http` as processes: what is shown, kept, refused, logged and ended."""

import json
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from gated import make, read, read_one, request

from ledger import tokens
from ledger.ledger import Ledger
from ledger.place import WriteLock
from ledger.reader import open_reader


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where a ledger may be; there is none yet."""
    return tmp_path / "data" / "ledger.db"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a fresh key and its certificate for `localhost`; none is kept in the tree."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(key.private_bytes(pem, *form) + made.public_bytes(pem))
    return file


def line_of(file: Path, *words: str) -> list[str]:
    """Return the command line of the ledger's command."""
    return [sys.executable, "-P", "-m", "ledger.cli", *words, "--file", str(file)]


def run(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the ledger's command to its end, in a umask that would let everybody read."""
    return subprocess.run(line_of(file, *words), capture_output=True, text=True, timeout=60, check=False, umask=0)


def document(file: Path, *words: str) -> Any:
    """Run a command that must succeed and return its document."""
    done = run(file, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def serving(
    file: Path, *words: str, where: str = "127.0.0.1:0", before: tuple[str, ...] = ()
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Serve as the command does; the process is gone afterwards whatever happens."""
    process = subprocess.Popen(
        [*before, *line_of(file, "serve", "--http", where, *words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        told = process.stderr.readline()
        found = re.search(r"at https?://\S+:(\d+)/mcp for \d+ clients?$", told)
        assert found is not None, told + process.stderr.read()
        yield process, int(found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


# -- tokens -----------------------------------------------------------------------------------------------------------


def test_a_token_is_made_shown_once_listed_and_revoked(file: Path) -> None:
    """Create tells id and token; a list tells everything but the token; a revoked one stays in the list."""
    made = document(
        file, "token", "create", "laptop", "--project", "a", "--project", "b", "--tool", "query_learnings",
        "--trust", "1", "--expires", "2099-01-01",
    )  # fmt: skip
    listed = document(file, "token", "list")["tokens"]
    revoked = document(file, "token", "revoke", made["id"])
    again = document(file, "token", "revoke", made["id"])

    assert tokens.is_token(made["token"])
    assert {key: listed[0][key] for key in ("id", "name", "projects", "tools", "trust", "expires_at", "state")} == {
        "id": made["id"], "name": "laptop", "projects": ["a", "b"], "tools": ["query_learnings"], "trust": 1,
        "expires_at": "2099-01-02T00:00:00Z", "state": "live",
    }  # fmt: skip
    assert made["token"].split("_")[2] not in json.dumps(listed)
    assert (revoked["state"], again["revoked_at"]) == ("revoked", revoked["revoked_at"])
    assert document(file, "token")["tokens"][0]["state"] == "revoked"


def test_a_saved_token_is_not_shown_and_gives_the_clients_headers(file: Path, tmp_path: Path) -> None:
    """The file is its owner's alone, under any umask; `token headers` prints what Claude Code's helper has to."""
    saved = tmp_path / "my.token"
    made = document(file, "token", "create", "laptop", "--save", str(saved))
    plain = run(file, "token", "headers", str(saved))

    assert (made["token"], made["saved"]) == (None, str(saved))
    assert saved.stat().st_mode & 0o777 == 0o600
    assert Path(f"{file}.tokens").stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert json.loads(plain.stdout) == {"Authorization": f"Bearer {saved.read_text().strip()}"}
    assert tokens.is_token(saved.read_text().strip())
    assert plain.stderr == ""


def test_headers_are_read_from_a_file_of_the_owners_alone(file: Path, tmp_path: Path) -> None:
    """Others can read it, a link leads to it, it holds something else, it is not there: no header, a reason."""
    saved = tmp_path / "my.token"
    document(file, "token", "create", "laptop", "--save", str(saved))
    (tmp_path / "link").symlink_to(saved)
    (tmp_path / "other").write_text("hello")
    (tmp_path / "other").chmod(0o600)
    (tmp_path / "wide").write_text(saved.read_text())
    (tmp_path / "wide").chmod(0o640)

    found = {name: run(file, "token", "headers", str(tmp_path / name)) for name in ("link", "other", "wide", "none")}

    assert all(done.returncode != 0 and done.stdout == "" for done in found.values())
    assert all("lrnt_" not in done.stderr and "hello" not in done.stderr for done in found.values())
    assert run(file, "token", "create", "again", "--save", str(saved)).returncode == 10


def test_a_token_that_could_not_be_kept_is_saved_nowhere(file: Path, tmp_path: Path) -> None:
    """When the ledger's side cannot be written, the client's file goes too."""
    make(file)
    Path(f"{file}{tokens.ENDING}").chmod(0o644)

    done = run(file, "token", "create", "laptop", "--save", str(tmp_path / "my.token"))

    assert (done.returncode, "chmod 600" in done.stderr) == (27, True)
    assert not (tmp_path / "my.token").exists()


def test_a_dry_run_makes_and_ends_nothing(file: Path) -> None:
    """Neither a token nor a file; a revoked one is live still."""
    made, _ = make(file)

    create = document(file, "token", "create", "laptop", "--dry-run")
    revoke = document(file, "token", "revoke", made.id, "--dry-run")

    assert (create["id"], create["token"], revoke["state"]) == (None, None, "revoked")
    assert [one.revoked_at for one in tokens.load(str(file))] == [None]


@pytest.mark.parametrize(
    "words",
    [
        ("token", "create"),
        ("token", "create", "a", "b"),
        ("token", "make", "a"),
        ("token", "revoke"),
        ("token", "revoke", "000000000000"),
        ("token", "list", "--project", "a"),
        ("token", "create", "a", "--tool", "import_learnings"),
        ("token", "create", "a", "--trust", "4"),
        ("serve", "--http", "nowhere"),
        ("serve", "--http", "127.0.0.1:0", "--project", "a"),
        ("serve", "--http", "127.0.0.1:0", "--tls-cert", "a"),
        ("serve", "--behind-proxy"),
        ("serve", "--allow-host", "x"),
    ],
)
def test_what_cannot_be_meant_is_refused(file: Path, words: tuple[str, ...]) -> None:
    """In a sentence with what to do; nothing is made."""
    file.parent.mkdir(mode=0o700)
    done = run(file, *words)

    assert 10 <= done.returncode <= 39, done
    assert re.search(r"nothing was (done|written|started|changed)", done.stderr)
    assert not Path(f"{file}.tokens").exists()


# -- serving ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_well(file: Path, number: signal.Signals) -> None:
    """Exit 0 with connections open, the counts told, nothing on standard output, the port free again."""
    _, text = make(file)
    with serving(file) as (process, port), socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(request(port, text, connection=None))
        assert read_one(line) == 200
        process.send_signal(number)
        out, said = process.communicate(timeout=10)

    assert (process.returncode, out) == (0, "")
    assert " 200 x1" in said
    assert said.endswith("learnings: ended\n")
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_signal_ends_the_server_although_a_write_waits(file: Path) -> None:
    """A write that waits for another writer is not waited for; nothing of it is in the ledger."""
    _, text = make(file)
    Ledger.init(str(file)).close()
    call = {"name": "record_learning", "arguments": {"problem": "the pier sinks", "solution": "prop it"}}
    write = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with serving(file) as (process, port), WriteLock(str(file), 5.0), ExitStack() as stack:
        waiting, line = (
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)) for _ in range(2)
        )
        waiting.sendall(request(port, text, write))
        line.sendall(request(port, text))
        assert read(line).status == 200
        process.terminate()
        _, said = process.communicate(timeout=9)

    assert (process.returncode, said.endswith("learnings: ended\n")) == (0, True)
    with open_reader(str(file)) as reader:
        assert reader.head().seq == 0


@pytest.mark.parametrize(
    ("where", "words"),
    [("0.0.0.0:0", ()), ("192.0.2.1:0", ()), ("0.0.0.0:0", ("--behind-proxy",)), ("[::]:0", ("--allow-host", "x"))],
)
def test_other_machines_are_not_served_by_accident(file: Path, where: str, words: tuple[str, ...]) -> None:
    """Without TLS, a word that a proxy does it, or a name, it does not start, and says what is missing."""
    make(file)

    done = run(file, "serve", "--http", where, *words)

    assert done.returncode == 25
    assert "nothing was started" in done.stderr


def test_other_machines_are_not_served_without_a_token(file: Path) -> None:
    """Nobody could be let in."""
    done = run(file, "serve", "--http", "0.0.0.0:0", "--behind-proxy", "--allow-host", "ledger.example")

    assert (done.returncode, "token create" in done.stderr) == (25, True)


def test_a_place_that_is_taken_is_said_so(file: Path) -> None:
    """The address is named, and nothing is started."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run(file, "serve", "--http", f"127.0.0.1:{taken.getsockname()[1]}")

    assert done.returncode == 30
    assert "cannot be listened at" in done.stderr


def test_tls_is_spoken_with_a_certificate(file: Path, certificate: Path) -> None:
    """Over TLS it is served; what speaks no TLS gets nothing; a key that is none is refused."""
    _, text = make(file)
    where = ("--tls-cert", str(certificate), "--tls-key", str(certificate))
    context = ssl.create_default_context(cafile=str(certificate))
    with serving(file, *where) as (_, port):
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as line,
        ):
            line.sendall(request(port, text))
            answer = read(line)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            plain.sendall(request(port, text))
            bare = plain.recv(5)
    wrong = run(file, "serve", "--http", "127.0.0.1:0", "--tls-cert", __file__, "--tls-key", __file__)

    assert answer.status == 200
    assert not bare.startswith(b"HTTP")
    assert (wrong.returncode, "nothing was started" in wrong.stderr) == (30, True)


def test_loopback_of_the_other_family_is_served(file: Path) -> None:
    """`[::1]` is a place and a name."""
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    _, text = make(file)
    with serving(file, where="[::1]:0") as (_, port), socket.create_connection(("::1", port), timeout=10) as line:
        line.sendall(request(port, text, host=f"[::1]:{port}"))
        found = read(line).status

    assert found == 200


def test_a_proxys_name_is_answered_when_it_was_named(file: Path) -> None:
    """Behind a proxy requests carry its name."""
    _, text = make(file)
    with serving(file, "--behind-proxy", "--allow-host", "ledger.example") as (_, port):
        found = []
        for host in ("ledger.example", "ledger.example:443", f"127.0.0.1:{port}"):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
                line.sendall(request(port, text, host=host))
                found.append(read(line).status)

    assert found == [200, 421, 200]


@pytest.mark.parametrize(("files", "served"), [(300, 200), (1_000, 200)])
def test_few_files_mean_few_connections_and_not_a_fault(file: Path, files: int, served: int) -> None:
    """Where a process may have few files, more connections than that leave the ledger readable."""
    make(file, "other")
    _, text = make(file)
    few = ("sh", "-c", f'ulimit -n {files} && exec "$@"', "sh")
    with serving(file, before=few) as (_, port):
        silent = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(400)]
        call = {"name": "ledger_status", "arguments": {}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
            line.sendall(request(port, text, asked))
            answer = read(line)
        for one in silent:
            one.close()

    assert answer.status == served
    assert b'"isError":false' in answer.body.replace(b" ", b"") or b"structuredContent" in answer.body


def test_a_command_line_holds_no_token(file: Path) -> None:
    """Neither the server's arguments nor its environment name one."""
    _, text = make(file)
    with serving(file) as (process, _):
        known = b"".join((Path("/proc") / str(process.pid) / part).read_bytes() for part in ("cmdline", "environ"))

    assert text.split("_")[2].encode() not in known


def test_the_server_over_stdio_loads_nothing_of_this() -> None:
    """Its start is paid in every session."""
    code = (
        "import sys, mcp_server.server, mcp_server.__main__\n"
        "print([name for name in sys.modules if name in ('ledger.tokens', 'ledger.fence', 'ledger.cli_token') or "
        "name in ('mcp_server.http', 'mcp_server.gate', 'mcp_server.remote', 'mcp_server.line', 'mcp_server.book')])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"

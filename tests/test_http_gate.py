"""The gate over HTTP, byte by byte: who is let in, by which name, in which form, and how slowly."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from gated import QUICK, Served, make, read, read_one, request, serving

from ledger import place, tokens
from ledger.errors import BadArgument, LedgerError, NotAllowed
from mcp_server.book import Book
from mcp_server.exchange import unquoted
from mcp_server.gate import Bind, Head, Limits, Pace, Refusal, Tally, bind_of, check_bind, sites_of
from mcp_server.gate import Gate as Door


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where a ledger may be; there is none yet."""
    return tmp_path / "ledger.db"


@pytest.fixture
def served(file: Path) -> Iterator[Served]:
    """Return a server with short deadlines."""
    with serving(file, QUICK) as made:
        yield made


# -- tokens (H01) -----------------------------------------------------------------------------------------------------


def wrong_tokens(file: Path) -> dict[str, str | None]:
    """Return everything that is no token of a live client, by what is wrong with it."""
    _, good = make(file, "good")
    _, other = make(file, "other")
    expired, expired_text = tokens.new("expired", now=1_000_000_000)
    revoked, revoked_text = make(file, "revoked")
    tokens.add(str(file), expired)
    tokens.revoke(str(file), revoked.id, now=1_800_000_000)
    prefix, name, secret = good.split("_", 2)
    return {
        "none": None,
        "empty": "",
        "short": good[:20],
        "long": good + "A",
        "another secret": f"{prefix}_{name}_{'A' * 43}",
        "another client's secret": f"{prefix}_{name}_{other.split('_', 2)[2]}",
        "another id": f"{prefix}_{'0' * 12}_{secret}",
        "another prefix": f"key_{name}_{secret}",
        "a letter changed": good[:-1] + ("A" if good[-1] != "A" else "E"),
        "another spelling of the same bytes": good[:-1] + chr(ord(good[-1]) + 1),
        "a blank inside": good[:30] + " " + good[30:],
        "no ascii": good[:-1] + "é",
        "the digest": f"{prefix}_{name}_{tokens.load(str(file))[0].digest}",
        "expired": expired_text,
        "revoked": revoked_text,
    }


def test_whoever_has_no_live_token_gets_one_and_the_same_answer(file: Path, served: Served) -> None:
    """401 with the same bytes, whether the token is missing, malformed, unknown, wrong, expired or revoked."""
    wrong = wrong_tokens(file)

    answers = {name: served.ask(text) for name, text in wrong.items()}

    assert {name: answer.status for name, answer in answers.items()} == dict.fromkeys(wrong, 401)
    assert len({(answer.body, tuple(answer.headers.items())) for answer in answers.values()}) == 1


def test_a_good_token_in_another_scheme_or_twice_is_none(file: Path, served: Served) -> None:
    """Only one Authorization header with `Bearer` lets in."""
    _, good = make(file)
    twice = request(served.port, good).replace(b"\r\naccept", f"\r\nauthorization: Bearer {good}\r\naccept".encode())

    assert served.ask(good).status == 200
    assert served.ask(None, authorization=f"bearer {good}").status == 200
    assert served.ask(None, authorization=f"Basic {good}").status == 401
    assert served.ask(None, authorization=good).status == 401
    assert served.ask(None, target=f"/mcp?access_token={good}").status == 404
    assert served.send(twice).status == 401


def test_a_revoked_token_is_refused_with_the_next_request(file: Path, served: Served) -> None:
    """The running server needs no word of it, even on a connection that is open."""
    made, text = make(file)
    with served.connect() as line:
        line.sendall(request(served.port, text, connection=None))
        first = read_one(line)
        tokens.revoke(str(file), made.id, now=1_800_000_000)
        line.sendall(request(served.port, text, connection=None))

        second = read(line)

    assert (first, second.status) == (200, 401)


@pytest.mark.parametrize("harm", ["wider", "no json", "half", "a folder", "gone"])
def test_nobody_is_let_in_when_the_tokens_cannot_be_trusted(file: Path, served: Served, harm: str) -> None:
    """A file that others may read, that is damaged or gone shuts everybody out; the good one lets in again."""
    _, text = make(file)
    held = Path(f"{file}{tokens.ENDING}")
    data = held.read_bytes()
    held.unlink()
    if harm == "a folder":
        held.mkdir()
    elif harm != "gone":
        bad = {"wider": data, "no json": b"{", "half": data.replace(b'"tools"', b'"tool"')}[harm]
        held.write_bytes(bad)
        held.chmod(0o644 if harm == "wider" else 0o600)

    shut = served.ask(text).status
    if harm == "a folder":
        held.rmdir()
    place.replace(str(held), data)

    assert (shut, served.ask(text).status) == (401, 200)


# -- names, pages and forms (H02) -------------------------------------------------------------------------------------

HOSTS = {
    "127.0.0.1:{port}": 200,
    "localhost:{port}": 200,
    "LOCALHOST:{port}": 200,
    "127.0.0.1": 421,
    "localhost": 421,
    "127.0.0.1:1": 421,
    "127.0.0.1:{port}0": 421,
    "127.0.0.1.evil:{port}": 421,
    "127.0.0.1.evil.example:{port}": 421,
    "evil.example:{port}": 421,
    "evil.example": 421,
    "localhost.evil.example:{port}": 421,
    "127.0.0.1:{port}.evil.example": 421,
    "user@127.0.0.1:{port}": 421,
    "127.1:{port}": 421,
    "2130706433:{port}": 421,
    "0.0.0.0:{port}": 421,
    "[::1]:{port}": 421,
    "[::ffff:127.0.0.1]:{port}": 421,
    "": 421,
    "null": 421,
    "*": 421,
}

ORIGINS = {
    "null": 403,
    "http://127.0.0.1:{port}": 403,
    "http://localhost:{port}": 403,
    "http://evil.example": 403,
    "https://good.example": 200,
    "HTTPS://good.example": 200,
    "https://good.example:444": 403,
    "http://good.example": 403,
    "https://good.example.evil.example": 403,
    "https://sub.good.example": 403,
    "file://": 403,
    "": 403,
}


def test_only_the_servers_own_names_and_the_pages_that_were_named_are_answered(file: Path) -> None:
    """The table of hosts and origins, exact to the port; a request without Origin is no page's."""
    _, text = make(file)
    with serving(file, origins=("https://good.example",)) as served:
        hosts = {name: served.ask(text, host=name.format(port=served.port)).status for name in HOSTS}
        origins = {name: served.ask(text, origin=name.format(port=served.port)).status for name in ORIGINS}
        missing = served.ask(text, host=None)
        without = served.ask(text)
        two = request(served.port, text).replace(b"\r\naccept", b"\r\nhost: evil.example\r\naccept")
        both = request(served.port, text, origin="https://good.example")
        both = both.replace(b"\r\naccept", b"\r\norigin: http://evil.example\r\naccept")
        doubled = [served.send(two).status, served.send(both).status]

    assert hosts == HOSTS
    assert origins == ORIGINS
    assert (missing.status, without.status, doubled) == (400, 200, [400, 403])


def test_no_page_is_told_that_it_may_call(file: Path, served: Served) -> None:
    """There is no answer to a preflight and no CORS header on anything, with or without a token."""
    _, text = make(file)
    answers = [
        served.ask(text, method="OPTIONS", origin="http://evil.example", access_control_request_method="POST"),
        served.ask(text, method="OPTIONS"),
        served.ask(None, origin="http://evil.example"),
        served.ask(text),
    ]

    assert [answer.status for answer in answers] == [403, 405, 403, 200]
    assert not [name for answer in answers for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/json-patch+json", 415),
        ("text/plain; application/json", 415),
        (None, 415),
    ],
)
def test_only_json_is_taken(file: Path, served: Served, kind: str | None, status: int) -> None:
    """What a page can send without asking first is refused by its type."""
    _, text = make(file)

    assert served.ask(text, content_type=kind).status == status


def test_only_one_place_and_one_method_are_answered(file: Path, served: Served) -> None:
    """Everything else is nothing, whoever asks; a compressed body is not unpacked."""
    _, text = make(file)
    found = {
        "GET": served.ask(text, method="GET").status,
        "DELETE": served.ask(text, method="DELETE").status,
        "HEAD": served.ask(text, method="HEAD").status,
        "/": served.ask(text, target="/").status,
        "/mcp/": served.ask(text, target="/mcp/").status,
        "/mcp?x": served.ask(text, target="/mcp?x").status,
        "absolute": served.ask(text, target=f"http://127.0.0.1:{served.port}/mcp").status,
        "gzip": served.ask(text, content_encoding="gzip").status,
    }

    assert found == {
        "GET": 405, "DELETE": 405, "HEAD": 405, "/": 404, "/mcp/": 404, "/mcp?x": 404, "absolute": 404, "gzip": 415
    }  # fmt: skip
    assert served.ask(None, method="HEAD").body == b""


def test_what_is_no_http_is_said_so_and_ends(file: Path, served: Served) -> None:
    """Two lengths, a length beside chunks, a head without end and plain noise."""
    _, text = make(file)
    sound = request(served.port, text)
    found = [
        served.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 10 + b"\r\n\r\n").status,
        served.send(sound.replace(b"content-length: ", b"content-length: 9\r\ncontent-length: ")).status,
        served.send(sound.replace(b"content-length: ", b"transfer-encoding: chunked\r\ncontent-length: ")).status,
        served.send(sound.replace(b"\r\nconnection", b"\r\nx: " + b"y" * 20_000 + b"\r\nconnection")).status,
        served.send(sound.replace(b"\r\nconnection", b"\r\nx: " + b"y" * 90_000 + b"\r\nconnection")).status,
        served.send(sound.replace(b"HTTP/1.1", b"HTTP/9.9")).status,
    ]

    assert found == [400, 400, 400, 431, 431, 505]


# -- sizes and deadlines (H05) ----------------------------------------------------------------------------------------


def test_a_body_beyond_the_cap_is_refused_before_it_is_read(file: Path) -> None:
    """By its length at once, and in chunks as soon as it is too much."""
    _, text = make(file)
    with serving(file, Limits(body_bytes=2_000)) as served:
        told = served.ask(text, b"", content_length=str(100_000_000))
        chunk = b"7d0\r\n" + b" " * 2_000 + b"\r\n"
        head = request(served.port, text, b"", content_length=None, transfer_encoding="chunked")
        chunked = served.send(head + chunk * 3 + b"0\r\n\r\n")
        fits = served.ask(text, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode().ljust(2_000))

    assert (told.status, chunked.status, fits.status) == (413, 413, 200)


def test_a_slow_head_and_a_slow_body_meet_a_deadline(file: Path, served: Served) -> None:
    """408 for what has begun, and nothing at all for a connection on which nothing was said."""
    _, text = make(file)
    whole = request(served.port, text)
    with served.connect() as silent, served.connect() as head, served.connect() as body:
        head.sendall(whole[:40])
        body.sendall(whole[:-5])
        found = [read(silent).status, read(head).status, read(body).status]

    assert found == [0, 408, 408]


def test_a_client_that_asks_first_is_told_to_go_on(file: Path, served: Served) -> None:
    """`Expect: 100-continue` is answered by the head alone: go on with a token, 401 without."""
    _, text = make(file)
    head, _, body = request(served.port, text, expect="100-continue").partition(b"\r\n\r\n")
    with served.connect() as line:
        line.sendall(head + b"\r\n\r\n")
        first = line.recv(25)
        line.sendall(body)
        rest = read(line)

    assert first.startswith(b"HTTP/1.1 100")
    assert b'"tools"' in rest.body
    assert served.ask(None, b"", expect="100-continue", content_length="1000").status == 401


def test_a_body_that_is_no_http_is_said_so(file: Path, served: Served) -> None:
    """Chunks that are none end the connection; so does a client that goes before its body is whole."""
    _, text = make(file)
    head = request(served.port, text, b"", content_length=None, transfer_encoding="chunked")
    with served.connect() as line:
        line.sendall(request(served.port, text)[:-5])
        line.shutdown(socket.SHUT_WR)
        gone = read(line)

    assert served.send(head + b"kestrel\r\n").status == 400
    assert gone.status == 400


def test_several_requests_on_one_connection_are_answered_in_turn(file: Path, served: Served) -> None:
    """Sent at once, and then nothing more: the connection is closed when it was idle for long enough."""
    _, text = make(file)
    with served.connect() as line:
        line.sendall(request(served.port, text, connection=None) * 3)
        found = [read_one(line) for _ in range(3)]
        after = read(line)

    assert found == [200, 200, 200]
    assert after.status == 0


def test_a_stranger_with_a_body_is_refused_before_it_comes(file: Path, served: Served) -> None:
    """The head alone decides: nobody who has no token has anything read."""
    answer = served.ask(None, b"", content_length="1000")

    assert answer.status == 401


def test_the_oldest_stranger_makes_room_for_a_client(file: Path) -> None:
    """With more silent connections than there is room for, a client that speaks is answered all the same."""
    _, text = make(file)
    with serving(file, Limits(strangers=4, total=6)) as served:
        silent = [served.connect() for _ in range(20)]
        answer = served.ask(text)
        closed = [line for line in silent if is_closed(line)]
        for line in silent:
            line.close()

    assert answer.status == 200
    assert len(closed) >= 16
    assert any("- evicted x" in one for one in served.log)


def is_closed(line: socket.socket) -> bool:
    """Tell whether the other side has closed by now."""
    line.settimeout(0.2)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def test_a_client_may_have_so_many_connections(file: Path) -> None:
    """One more is refused; another client is served."""
    _, text = make(file)
    _, other = make(file, "other")
    with serving(file, Limits(connections=2)) as served:
        held = [served.connect() for _ in range(2)]
        for line in held:
            line.sendall(request(served.port, text, connection=None))
            assert read_one(line) == 200
        found = [served.ask(text).status, served.ask(other).status]
        for line in held:
            line.close()

    assert found == [429, 200]


def test_a_connection_is_turned_away_when_every_place_is_a_clients(file: Path) -> None:
    """It is closed before a byte of it is read."""
    _, text = make(file)
    with serving(file, Limits(total=1)) as served, served.connect() as line:
        line.sendall(request(served.port, text, connection=None))
        assert read_one(line) == 200
        found = served.ask(text).status

    assert found == 0
    assert any("- turned-away x1" in one for one in served.log)


def test_a_client_that_asks_too_fast_is_slowed_and_no_other(file: Path) -> None:
    """429 with a time to come back, for this client only."""
    _, text = make(file)
    _, other = make(file, "other")
    with serving(file, Limits(rate=60, burst=3)) as served:
        found = [served.ask(text) for _ in range(5)]
        also = served.ask(other)

    assert [answer.status for answer in found] == [200, 200, 200, 429, 429]
    assert found[-1].headers["retry-after"] == "10"
    assert also.status == 200


def test_guessing_is_slowed_and_does_not_shut_a_client_out(file: Path) -> None:
    """Failures of one address end in 429; a good token from there is let in."""
    _, text = make(file)
    with serving(file, Limits(failures=3)) as served:
        found = [served.ask("guess").status for _ in range(5)]
        good = served.ask(text).status

    assert (found, good) == ([401, 401, 401, 429, 429], 200)


def test_pace_comes_back_with_time() -> None:
    """What a client has left grows by its rate up to the burst."""
    now = [0.0]
    pace = Pace(60, 2, lambda: now[0])

    before = [pace.is_within("a") for _ in range(3)]
    now[0] = 1.0
    after = [pace.is_within("a") for _ in range(2)]
    now[0] = 1_000.0

    assert (before, after) == ([True, True, False], [True, False])
    assert [pace.is_within("a") for _ in range(3)] == [True, True, False]


def test_pace_keeps_no_more_than_so_many() -> None:
    """Addresses without end do not fill the memory."""
    pace = Pace(60, 2, lambda: 0.0)

    for at in range(10_050):
        pace.is_within(str(at))

    assert len(pace._left) <= 10_001


# -- where it listens (H06) -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8765", "127.0.0.1", 8765),
        (":8765", "127.0.0.1", 8765),
        ("8765", "127.0.0.1", 8765),
        ("localhost:1", "localhost", 1),
        ("[::1]:8765", "::1", 8765),
        ("0.0.0.0:80", "0.0.0.0", 80),
    ],
)
def test_a_place_is_an_address_and_a_port(text: str, host: str, port: int) -> None:
    """A port alone means loopback."""
    assert bind_of(text) == Bind(host, port)


@pytest.mark.parametrize("text", ["127.0.0.1", "example.org:80", "127.0.0.1:x", "127.0.0.1:65536", "::1:80x"])
def test_what_is_no_place_is_refused(text: str) -> None:
    """Names are not looked up: that would be the network."""
    with pytest.raises(BadArgument, match="nothing was started"):
        bind_of(text)


def test_other_machines_reach_it_only_when_that_was_prepared() -> None:
    """TLS or a word that a proxy does it, a name, and a token; loopback needs none of these."""
    token, _ = tokens.new("one", now=1_000_000_000)

    def refused(text: str, **given: object) -> str:
        usual = {"has_tls": False, "is_proxied": False, "hosts": (), "tokens": [token]}
        try:
            check_bind(bind_of(text), **{**usual, **given})  # type: ignore[arg-type]
        except NotAllowed as error:
            return error.hint.split()[1]
        return ""

    assert [refused(text, tokens=[]) for text in ("127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1")] == [""] * 4
    assert refused("192.0.2.1:1") == refused("0.0.0.0:1") == refused("[::]:1") == "--tls-cert"
    assert refused("192.0.2.1:1", has_tls=True) == refused("192.0.2.1:1", is_proxied=True) == ""
    assert refused("192.0.2.1:1", has_tls=True, tokens=[]) == "one"
    assert refused("0.0.0.0:1", has_tls=True) == "what"
    assert refused("0.0.0.0:1", has_tls=True, hosts=("ledger.example",)) == ""


def test_a_server_has_the_names_of_its_place() -> None:
    """The usual port may be left out; every address has no name but those given."""
    assert sites_of(Bind("127.0.0.1", 80), (), (), "http").hosts == {
        "127.0.0.1:80", "localhost:80", "127.0.0.1", "localhost"
    }  # fmt: skip
    assert sites_of(Bind("::1", 9), (), (), "http").hosts == {"[::1]:9", "localhost:9"}
    assert sites_of(Bind("0.0.0.0", 443), ("Ledger.example",), (), "https").hosts == {"ledger.example"}
    assert sites_of(Bind("192.0.2.1", 443), (), (), "https").hosts == {"192.0.2.1:443", "192.0.2.1"}


# -- what is kept of it (H07) -----------------------------------------------------------------------------------------


def test_the_log_holds_ids_and_counts_and_nothing_that_was_sent(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No token, no body, no words of a question, whatever became of the request."""
    made, text = make(file)
    with serving(file, QUICK) as served:
        served.tool(text, "record_learning", problem="kestrelproblem", solution="kestrelsolution", project="A")
        served.tool(text, "query_learnings", query="kestrelquery")
        served.tool(text, "kestreltool", kestrelargument="kestrelvalue")
        served.ask(text, b'{"kestrelbroken')
        served.ask(text, {"jsonrpc": "2.0", "id": 1, "method": "kestrelmethod", "params": {"kestrel": 1}})
        served.ask("kestrelguess" + text[20:], origin="http://kestrel.example")
        served.ask(text, target="/kestrelpath")
        served.ask(text, content_type="kestrel/kind")

    said = "".join(served.log) + "".join(capfd.readouterr())
    assert f"{made.id} 200 x" in said
    assert "- 403 x1" in said
    assert "kestrel" not in said
    assert text[20:] not in said


def test_an_error_of_the_protocol_quotes_nothing(file: Path, served: Served) -> None:
    """The SDK's own messages hold what was sent; ours hold a sentence."""
    _, text = make(file)
    bodies: list[object] = [
        b'{"kestrelbroken',
        b"[" * 5_000,
        b'{"jsonrpc":"2.0","id":1,"method":"kestrelmethod"}',
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["kestrel"], "arguments": "kestrel"}},
        {"jsonrpc": "kestrel", "id": {"kestrel": 1}, "method": 7},
        [{"jsonrpc": "2.0", "id": 1, "method": "kestrel"}],
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kestrel\\ud800","arguments":{}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"undo","arguments":{"seq":'
        + b"9" * 5_000
        + b"}}}",
    ]
    answers = [served.ask(text, body, mcp_protocol_version=v) for body in bodies for v in ("2025-06-18", "2026-07-28")]
    answers.append(served.ask(text, mcp_protocol_version="kestrel"))
    answers.append(served.ask(text, accept="text/kestrel"))

    assert all(b"kestrel" not in answer.body for answer in answers), [a for a in answers if b"kestrel" in a.body]
    assert all(answer.status >= 200 for answer in answers)


def test_what_the_sdk_says_of_an_error_is_said_in_our_words() -> None:
    """The code stays, and which versions are spoken; the message and everything else is left out."""
    version = {"supported": ["2026-07-28"], "requested": "kestrel"}
    errors = {
        -32700: {"message": "kestrel", "data": "kestrel"},
        -1: {"message": "kestrel"},
        -32022: {"message": "kestrel", "data": version},
    }
    bodies = [json.dumps({"jsonrpc": "2.0", "id": 7, "error": {"code": code, **one}}) for code, one in errors.items()]

    said = [json.loads(unquoted(body.encode())) for body in bodies]

    assert [one["error"]["code"] for one in said] == list(errors)
    assert {one["id"] for one in said} == {7}
    assert said[2]["error"]["data"] == {"supported": ["2026-07-28"], "requested": "unknown"}
    assert "kestrel" not in json.dumps(said)
    assert unquoted(b'"error" kestrel') == b'{"error":"something went wrong"}'
    assert unquoted(b'["error"]') == b'["error"]'
    assert unquoted(b"") == b""


# -- tokens themselves ------------------------------------------------------------------------------------------------


def test_a_token_is_kept_as_a_digest_in_a_file_for_its_owner_alone(file: Path) -> None:
    """What the file holds lets nobody in."""
    _, text = make(file)
    held = Path(f"{file}{tokens.ENDING}")

    assert held.stat().st_mode & 0o777 == 0o600
    assert text.split("_", 2)[2] not in held.read_text()
    assert tokens.is_token(text)
    assert len(tokens.secret_of(text.split("_", 2)[2])) == 32


@pytest.mark.parametrize(
    "given",
    [
        {"name": ""},
        {"name": "a b"},
        {"name": "x" * 61},
        {"name": "one", "tools": ["import_learnings"]},
        {"name": "one", "tools": ["nothing"]},
        {"name": "one", "projects": [""]},
        {"name": "one", "projects": ["x" * 201]},
        {"name": "one", "projects": ["p"] * 51},
        {"name": "one", "trust": 4},
        {"name": "one", "trust": -1},
        {"name": "one", "expires": "yesterday"},
        {"name": "one", "expires": "2001-01-01"},
        {"name": "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"},
    ],
)
def test_what_no_token_can_be_is_refused(given: dict[str, object]) -> None:
    """Nothing is drawn or written."""
    with pytest.raises(LedgerError, match="nothing was written"):
        tokens.new(**given, now=1_796_000_000)  # type: ignore[arg-type]


def test_a_token_ends_after_the_day_it_was_given() -> None:
    """A date is the last day on which it is good; without one it is a year."""
    ends = [tokens.new("one", expires=text, now=1_796_000_000)[0].expires_at for text in (
        "2027-06-01", "2027-06-01T12:00", "2027-06-01T12:00:00+02:00", None)]  # fmt: skip

    assert ends == ["2027-06-02T00:00:00Z", "2027-06-01T12:00:00Z", "2027-06-01T10:00:00Z", "2027-11-30T00:53:20Z"]


def test_a_live_token_is_known_until_its_end(file: Path) -> None:
    """The clock alone ends it."""
    made, text = tokens.new("one", expires="2026-12-31", now=1_796_000_000)
    tokens.add(str(file), made)
    now = [1_796_000_000.0]
    book = Book(str(file), lambda: now[0])

    first = book.client(f"Bearer {text}")
    now[0] = 1_798_761_600.0

    assert first == made
    assert book.client(f"Bearer {text}") is None


def test_tokens_made_at_once_are_all_kept(file: Path) -> None:
    """Processes that make tokens at the same time wait for each other."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda at: make(file, f"t{at}")[0].id, range(16)))

    assert sorted(one.id for one in tokens.load(str(file))) == sorted(made)


def test_a_tally_says_nothing_when_there_was_nothing() -> None:
    """No line without a count, and each count once."""
    said: list[str] = []
    tally = Tally(said.append)

    tally.tell()
    tally.count("-", 401)
    tally.tell()
    tally.tell()

    assert len(said) == 1
    assert said[0].endswith(": - 401 x1\n")


def test_a_head_is_judged_without_a_socket(file: Path) -> None:
    """The gate is a function of the head: the first thing that is wrong is what is said."""
    _, text = make(file)
    gate = Door(Book(str(file)), sites_of(Bind("127.0.0.1", 9), (), (), "http"), Limits())
    headers = [(b"host", b"127.0.0.1:9"), (b"authorization", f"Bearer {text}".encode())]

    found = gate.admit(Head(b"POST", b"/mcp", [*headers, (b"content-length", b"9" * 30)]), "127.0.0.1")

    assert isinstance(found, Refusal)
    assert found.status == 415

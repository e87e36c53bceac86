"""The documentation is what the program does: reference, links, examples, promises."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a script of the documentation."""
    monkeypatch.syspath_prepend(str(DOCS))
    before = set(sys.modules)
    yield __import__
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and Path(str(sys.modules[name].__file__)).parent == DOCS:
            del sys.modules[name]


def test_the_documentation_is_what_the_program_does() -> None:
    """The check finds nothing: reference, keys, columns, links, commands, examples, promises."""
    done = subprocess.run([sys.executable, DOCS / "check.py"], capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_an_example_that_prints_something_else_is_named(scripts: Any, tmp_path: Path) -> None:
    """Ids and hashes may differ; a word that the program does not print may not."""
    page = tmp_path / "page.md"
    typed = '```console\n$ learnings init\n…\n$ learnings sql "SELECT 1 AS one"\none\n{}\n```\n'

    page.write_text(typed.format("1"))
    good = scripts("examples").faults(page)
    page.write_text(typed.format("2"))
    bad = scripts("examples").faults(page)

    assert good == []
    assert len(bad) == 1
    assert "SELECT 1 AS one" in bad[0]


def test_an_id_of_a_page_stands_for_the_one_that_is_printed(scripts: Any, tmp_path: Path) -> None:
    """The page's id is understood in a later command, and must stand for the same learning throughout."""
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ learnings record --category env --project demo --problem port --solution 6543\n…\n"
        "recorded lrn_abcdefgh… as current in demo  (undo: learnings undo 1)\n"
        "$ learnings history lrn_abcdefgh\n…\n$ learnings list\n"
        "lrn_abcdefgh…  2026-11-30  current  person  env  demo  port\n```\n"
    )

    found = scripts("examples").faults(page)

    assert found == []


def test_a_weekday_that_is_not_that_of_its_date_is_named(scripts: Any, tmp_path: Path) -> None:
    """Tuesday is the first of December."""
    page = tmp_path / "page.md"
    page.write_text("```console\n# Monday, 2026-12-01 09:00\n$ learnings help\n…\n```\n")

    found = scripts("examples").faults(page)

    assert "is a Tuesday" in found[0]


def test_columns_are_read_from_a_views_text(scripts: Any) -> None:
    """Aliases, dotted names, functions with commas, and the last SELECT of a recursive view."""
    view = "CREATE VIEW v AS WITH RECURSIVE n (a) AS (SELECT 1 UNION SELECT a FROM n) SELECT n.a, f(n.a, 2) AS b FROM n"

    found = scripts("check").columns(view)

    assert found == ["a", "b"]


def test_a_link_to_nowhere_is_named(scripts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing files and missing headings; links in code are no links."""
    check = scripts("check")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    (tmp_path / "there.md").write_text("# A heading, here\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md#a-heading-here) [b](there.md#none) [c](gone.md) [d](https://example.org)\n```\n[e](no)\n```\n"
    )

    found = list(check.links(page))

    assert found == ["page.md: there.md#none has no such heading", "page.md: gone.md leads nowhere"]

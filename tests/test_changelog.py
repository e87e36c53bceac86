"""The changelog is built from fragments, and a fragment out of order is named."""

import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def changes(tmp_path: Path) -> Path:
    """Return an empty folder of fragments below a changelog of its own."""
    folder = tmp_path / "changes"
    folder.mkdir()
    shutil.copy(ROOT / "changes" / "build.py", folder)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n<!-- releases -->\n")
    return folder


def build(changes: Path, *arguments: str) -> int:
    """Run the folder's script; return its exit code."""
    script: dict[str, Any] = runpy.run_path(str(changes / "build.py"))
    code: int = script["main"](list(arguments))
    return code


def test_sections_stand_in_the_order_of_what_a_reader_must_act_on(
    changes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Security comes first and fixes last, whatever the fragments' numbers."""
    (changes / "1.fixed.md").write_text("`undo` undoes.\n")
    (changes / "9.added.md").write_text("A command.\n")
    (changes / "12-door.security.md").write_text("A door is shut.\nFor good.\n")

    code = build(changes)

    printed = capsys.readouterr().out
    assert code == 0
    assert [line for line in printed.splitlines() if line.startswith("###")] == [
        "### Security",
        "### Added",
        "### Fixed",
    ]
    assert "- A door is shut.\n  For good. (#12)\n" in printed


def test_a_release_goes_on_top_and_takes_the_fragments_along(changes: Path) -> None:
    """After two releases the newer stands above the older, and no fragment is left."""
    (changes / "1.added.md").write_text("First.\n")
    build(changes, "0.1.0", "2026-12-01")
    (changes / "2.fixed.md").write_text("Second.\n")

    build(changes, "0.2.0", "2027-01-31")

    text = (changes.parent / "CHANGELOG.md").read_text()
    assert text == (
        "# Changelog\n\n<!-- releases -->\n\n"
        "## 0.2.0 (2027-01-31)\n\n### Fixed\n\n- Second. (#2)\n\n"
        "## 0.1.0 (2026-12-01)\n\n### Added\n\n- First. (#1)\n"
    )
    assert [path.name for path in changes.glob("*.md")] == []


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("fix-undo.md", "Text.", "not <issue>.<kind>.md"),
        ("7.improved.md", "Text.", "not <issue>.<kind>.md"),
        ("7.fixed.md", " \n", "empty"),
        ("7.fixed.md", "# Title\n", "headings"),
    ],
)
def test_a_fragment_out_of_order_is_named_and_nothing_is_released(
    changes: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, says: str
) -> None:
    """A wrong name, an empty text or a heading of its own fails the check and the release."""
    (changes / name).write_text(text)

    codes = [build(changes, "--check"), build(changes, "0.1.0", "2026-12-01")]

    assert codes == [1, 1]
    assert f"changes/{name}: " in (told := capsys.readouterr().err)
    assert says in told
    assert (changes / name).exists()


def test_the_fragments_of_this_checkout_are_in_order() -> None:
    """`.ci/run` relies on the same check."""
    assert build(ROOT / "changes", "--check") == 0

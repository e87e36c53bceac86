"""One fact said ten times in other words, by ten sources: it never fills what is found, recalled or handed out."""

import json
from pathlib import Path

import pytest
from hooked import environment, payload
from talk import talking

from importers.plan import plan, vanished
from importers.registry import scan_paths
from ledger import hook_main, ingest
from ledger.ledger import Ledger
from ledger.model import TRUST_NOTES, Draft, importer, person
from ledger.recall import Recall

NOTE = "---\nname: {name}\ndescription: {about}\ntype: reference\n---\n{rule}\n"

RESTATED = (
    (
        "image uploads fail with 413",
        "Raise client_max_body_size of the ingress to 20m, or image uploads fail with 413.",
    ),
    ("413 on uploading images", "Image uploads answer 413 until client_max_body_size of the ingress is raised to 20m."),
    (
        "uploading an image answers 413",
        "The ingress needs client_max_body_size 20m; without it uploads of images get 413.",
    ),
    ("images cannot be uploaded", "Uploads of images get 413 from the ingress: set client_max_body_size to 20m there."),
    (
        "why image uploads break",
        "They break with 413 because the ingress has a small client_max_body_size; 20m is right.",
    ),
    (
        "ingress refuses large images",
        "Set client_max_body_size to 20m on the ingress, it refuses image uploads with 413.",
    ),
    ("large image upload, 413", "For large image uploads client_max_body_size in the ingress has to be 20m, else 413."),
    (
        "413 Request Entity Too Large for images",
        "It is the ingress: client_max_body_size must be 20m for image uploads.",
    ),
    (
        "upload limit of images",
        "The upload limit of images is client_max_body_size of the ingress, 20m, beyond it 413.",
    ),
    (
        "the editor cannot upload images",
        "Image uploads of the editor hit the ingress limit (413): client_max_body_size is 20m.",
    ),
)
OTHERS = (
    Draft(
        "image uploads are slow", "Uploads go through the virus scanner; scan them after the answer.", "bug-fix", "shop"
    ),
    Draft("where uploads are kept", "Uploads lie in the bucket shop-media, one folder a tenant.", "env", "shop"),
    Draft("images lose their rotation", "Apply the EXIF rotation before resizing an image.", "bug-fix", "shop"),
    Draft(
        "ingress returns 502 at night", "The ingress restarts at two; retry requests that got 502.", "bug-fix", "shop"
    ),
)
ASKED = "image uploads fail with 413 at the ingress, what was the limit?"


@pytest.fixture(params=[importer(TRUST_NOTES), person()], ids=["others-by-notes", "others-by-a-person"])
def told(ledger: Ledger, tmp_path: Path, request: pytest.FixtureRequest) -> Ledger:
    """Return a ledger with one fact of ten notes, and four other facts near it, as trusted or more."""
    folder = tmp_path / "memory"
    folder.mkdir()
    for number, (about, rule) in enumerate(RESTATED):
        (folder / f"note-{number}.md").write_text(NOTE.format(name=f"note-{number}", about=about, rule=rule))
    (reading,) = scan_paths([str(folder)], "shop")
    assert ingest.run(ledger, reading, plan, vanished).recorded == len(RESTATED)
    with ledger.acting(request.param):
        for draft in OTHERS:
            ledger.record(draft)
    return ledger


def is_restated(solution: str) -> bool:
    """Tell whether a text is one of the ten."""
    return "client_max_body_size" in solution


def test_of_ten_that_say_one_thing_the_first_results_hold_one(told: Ledger) -> None:
    """What else bears on the question comes before the second of them, and all of them can still be asked for."""
    hits = told.reader.query(ASKED, project="shop", limit=5).hits
    every = told.reader.query(ASKED, project="shop", limit=14).hits

    assert sum(is_restated(hit.solution) for hit in hits) == 1
    assert sum(is_restated(hit.solution) for hit in every) == len(RESTATED)


def test_a_prompt_is_shown_one_of_them_at_most(told: Ledger) -> None:
    """Recall never shows the fact twice."""
    desk = Recall(told.reader)

    shown = desk.recall(ASKED, "s1", "shop").ids

    desk.close()
    assert shown
    assert sum(is_restated(told.reader.show(name)["solution"]) for name in shown) <= 1


def test_the_block_of_the_hook_holds_one_of_them_at_most(
    told: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a prompt's hook hands to the model holds one of the ten, without the script's limit of time."""
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name, value in environment(Path(told.path)).items():
        if name.startswith(("LEARNINGS_", "CLAUDE_")):
            monkeypatch.setenv(name, value)

    said = hook_main.answered("prompt", json.dumps(payload(shop, prompt=ASKED)).encode())

    assert said.count("client_max_body_size") <= 1
    assert "recalled-learnings" in said


def test_an_agent_that_asks_is_handed_one_of_them(told: Ledger) -> None:
    """Through the tool as well: one of the ten among the first five."""
    with talking(Path(told.path), "auto") as talk:
        hits = talk.document("query_learnings", query=ASKED, project="shop", limit=5)["hits"]

    assert sum(is_restated(hit["solution"]) for hit in hits) == 1

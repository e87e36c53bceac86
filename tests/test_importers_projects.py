"""Projects and trust: told by files that are read, never by git, never by a folder's lossy name."""

import os
from pathlib import Path

import pytest

from importers import projects, registry
from ledger.errors import BadArgument

NOTE = "---\nname: Pooler port\ntype: reference\n---\nThe pooler listens on 6543.\n"


def repository(folder: Path, url: str | None = "https://github.com/acme/api.git") -> Path:
    """Make a repository of files, as git would."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    origin = f'[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*\n' if url else ""
    (folder / ".git" / "config").write_text(f"[core]\n\tbare = false\n{origin}")
    return folder


def note(folder: Path, name: str = "a.md") -> Path:
    """Write a note into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(NOTE)
    return folder


def found(*paths: Path, home: Path | None = None, project: str | None = None) -> set[tuple[str, int]]:
    """Return project and trust of everything read below these paths."""
    readings = registry.scan_paths([str(path) for path in paths], project, home=str(home) if home else None)
    return {(draft.project, reading.trust) for reading in readings for draft in reading.drafts}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/acme/api.git", "acme/api"),
        ("https://ana:secret@github.com/acme/api.git/", "acme/api"),
        ("https://github.com/acme/api?token=secret", "acme/api"),
        ("git@github.com:acme/api.git", "acme/api"),
        ("github.com:acme/api", "acme/api"),
        ("ssh://git@host.example:2222/acme/api.git", "acme/api"),
        ("git://host.example/acme/api", "acme/api"),
        ("https://gitlab.example/group/sub/api.git", "sub/api"),
        ("https://dev.azure.com/org/project/_git/api", "project/api"),
        ("ssh://host.example/api.git", "api"),
        ("/srv/git/api.git", None),
        ("../api", None),
        ("file:///srv/git/api.git", None),
        ("https://host.example/", None),
        ("git@host:a@b/c", None),
        ("C:\\repos\\api", None),
        ("", None),
    ],
)
def test_a_repository_is_named_owner_and_repo_of_its_url(url: str, name: str | None) -> None:
    """Whatever stands before the host's path goes, credentials with it; a path names no owner."""
    assert projects.short_name(url) == name


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ('[remote "origin"]\n\turl = a\n\turl = b', "a"),
        ('[remote "fork"]\nurl = x\n[ Remote "origin" ]\nURL=a # note', "a"),
        ('[remote "origin"]\nfetch = x\n[core]\nurl = no', None),
        ('[remote "origin"] url = a', "a"),
        ('[remote "origin"]\nurl = "a b" ; c', "a b"),
        ('[remote "origin"]\npushurl = p\nurl = long\\\n/path', "long/path"),
        ("url = x\n\0[[[", None),
    ],
)
def test_origin_is_read_from_the_text_of_the_config(config: str, url: str | None) -> None:
    """Sections, comments, quotes and continued lines as git writes them; includes are not followed."""
    assert projects.origin(config) == url


def test_a_folder_deep_in_a_repository_belongs_to_it(tmp_path: Path) -> None:
    """The nearest `.git` upward decides."""
    root = repository(tmp_path / "api")
    (root / "src" / "deep").mkdir(parents=True)

    assert projects.project_of(str(root / "src" / "deep")) == "acme/api"


def test_a_repository_without_a_remote_is_named_after_its_folder(tmp_path: Path) -> None:
    """Also one whose remote is a path on this machine."""
    assert projects.project_of(str(repository(tmp_path / "demo", None))) == "demo"
    assert projects.project_of(str(repository(tmp_path / "copy", "/srv/git/demo.git"))) == "copy"


def test_a_folder_of_git_that_holds_nothing_is_no_repository(tmp_path: Path) -> None:
    """Neither is a path that names nothing at all; the root of the disk still has a name."""
    (tmp_path / ".git").mkdir()

    assert projects.project_of(str(tmp_path)) is None
    assert projects.folder_name("/") == "root"


def test_outside_every_repository_there_is_no_project(tmp_path: Path) -> None:
    """The caller decides what that means."""
    assert projects.project_of(str(tmp_path)) is None


def test_a_worktree_belongs_to_the_main_repository(tmp_path: Path) -> None:
    """Its `.git` file leads to the common folder, and that to config and name."""
    root = repository(tmp_path / "api", None)
    private = root / ".git" / "worktrees" / "wt"
    private.mkdir(parents=True)
    (private / "commondir").write_text("../..\n")
    (tmp_path / "wt").mkdir()
    (tmp_path / "wt" / ".git").write_text(f"gitdir: {private}\n")

    assert projects.project_of(str(tmp_path / "wt")) == "api"


def test_a_submodule_has_its_own_name(tmp_path: Path) -> None:
    """Its `.git` file leads to a folder with its own config and no common one."""
    root = repository(tmp_path / "api")
    modules = root / ".git" / "modules" / "lib"
    modules.mkdir(parents=True)
    (modules / "config").write_text('[remote "origin"]\n\turl = git@h.example:acme/lib.git\n')
    (root / "lib").mkdir()
    (root / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n")

    assert projects.project_of(str(root / "lib")) == "acme/lib"


@pytest.mark.parametrize(
    "content", ["", "nonsense", "gitdir:", "gitdir: /dev/zero", "gitdir: " + "x" * 10_000, "gitdir: a\0b"]
)
def test_a_hostile_git_file_ends_nothing(tmp_path: Path, content: str) -> None:
    """It is read as a bounded text; where it leads nowhere the folder above, or the folder's name, decides."""
    root = repository(tmp_path / "api")
    (root / "sub").mkdir()
    (root / "sub" / ".git").write_text(content)

    assert projects.project_of(str(root / "sub")) in ("acme/api", "sub")


def test_links_pipes_and_giants_in_a_git_folder_are_not_read(tmp_path: Path) -> None:
    """The name falls back to the folder's."""
    for kind in ("link", "pipe", "giant"):
        root = repository(tmp_path / kind)
        config = root / ".git" / "config"
        config.unlink()
        if kind == "link":
            config.symlink_to("/dev/zero")
        elif kind == "pipe":
            os.mkfifo(config)
        else:
            with config.open("wb") as sparse:
                sparse.truncate(1 << 40)

        assert projects.project_of(str(root)) == kind
    (tmp_path / "pipe.git").mkdir()
    os.mkfifo(tmp_path / "pipe.git" / ".git")

    assert projects.project_of(str(tmp_path / "pipe.git")) is None


def test_slugs_are_those_of_the_client() -> None:
    """Every UTF-16 unit outside letters and digits of ASCII becomes a hyphen, so slugs lose what they stand for."""
    assert [projects.slug(path) for path in ("/a b.c_d~e", "ünï-日本", "/x/😀")] == ["-a-b-c-d-e", "-n----", "-x---"]


def transcript(folder: Path, cwd: str, name: str = "s.jsonl", age: int = 0) -> None:
    """Write a transcript that tells a working folder after lines that do not."""
    folder.mkdir(parents=True, exist_ok=True)
    head = '{"type":"summary"}\nnot json "cwd"\n[{"cwd":"/no"}]\n{"cwd":7}\n{"cwd":"relative"}\n'
    (folder / name).write_text(f'{head}{{"cwd":"{cwd}","type":"user"}}\n')
    os.utime(folder / name, (1_000_000 - age, 1_000_000 - age))


def test_a_memory_folder_of_the_client_belongs_to_the_working_folder_of_its_transcripts(tmp_path: Path) -> None:
    """The newest transcript that tells one counts, and its repository names the project."""
    root = repository(tmp_path / "api")
    folder = tmp_path / "home" / ".claude" / "projects" / "-somewhere-api"
    note(folder / "memory")
    transcript(folder, "/old/place", "old.jsonl", age=100)
    transcript(folder, str(root / "src"), "new.jsonl")
    (root / "src").mkdir()

    assert found(folder / "memory", home=tmp_path / "home") == {("acme/api", 2)}


def test_a_working_folder_that_is_gone_is_named_by_the_path_that_gives_the_slug(tmp_path: Path) -> None:
    """A session that ended in a sub-folder still belongs to the root that the memory folder is named for."""
    folder = tmp_path / ".claude" / "projects" / "-home-ana-my-app"
    note(folder / "memory")
    transcript(folder, "/home/ana/my_app/web/src")

    assert found(folder / "memory") == {("my_app", 2)}


def test_without_a_transcript_the_slugs_last_part_is_a_guess_that_is_said(tmp_path: Path) -> None:
    """The slug is lossy, so the guess comes with a diagnostic."""
    folder = tmp_path / ".claude" / "projects" / "-home-ana-my-app"
    note(folder / "memory")

    (reading,) = registry.scan_paths([str(folder / "memory")])

    assert [draft.project for draft in reading.drafts] == ["app"]
    assert [one.code for one in reading.diagnostics] == ["project-guessed"]


def test_a_hostile_transcript_is_passed_over(tmp_path: Path) -> None:
    """Links, deep JSON, control characters and giants tell nothing and stop nothing."""
    folder = tmp_path / ".claude" / "projects" / "-x-demo"
    note(folder / "memory")
    (folder / "a.jsonl").symlink_to("/dev/zero")
    (folder / "b.jsonl").write_bytes(b'{"cwd":' + b"[" * 60_000)
    (folder / "c.jsonl").write_text('{"cwd":"/a\\u0007b"}\n{"cwd":"/x/\\ud800"}\n')
    with (folder / "d.jsonl").open("wb") as sparse:
        sparse.truncate(1 << 40)

    (_, trust) = found(folder / "memory").pop()

    assert trust == 2


def test_what_the_person_names_is_the_project(tmp_path: Path) -> None:
    """`--project` wins over every finding."""
    root = repository(tmp_path / "api")
    note(root / "notes")

    assert found(root / "notes", project="mine") == {("mine", 1)}


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_name_that_cannot_be_a_projects_is_refused_before_anything_is_read(tmp_path: Path, name: str) -> None:
    """Else every note would be refused one by one."""
    with pytest.raises(BadArgument, match="project"):
        registry.scan_paths([str(note(tmp_path / "notes"))], name)


def test_notes_in_a_repository_belong_to_it_at_the_trust_of_files(tmp_path: Path) -> None:
    """Anybody may have committed them."""
    root = repository(tmp_path / "api")
    note(root / ".claude" / "agent-memory" / "reviewer", "MEMORY.md")

    assert found(root / ".claude" / "agent-memory") == {("acme/api", 1)}
    assert found(root) == {("acme/api", 1)}


def test_a_repository_gives_its_memory_folders_and_not_its_documentation(tmp_path: Path) -> None:
    """A README is no memory; that it was left out is said."""
    root = repository(tmp_path / "api")
    note(root, "README.md")
    note(root / "docs", "guide.md")
    note(root / "memory", "MEMORY.md")
    note(root / "memory", "pooler.md")

    (reading,) = registry.scan_paths([str(root)])

    assert {os.path.basename(draft.source.path or "") for draft in reading.drafts if draft.source} == {
        "MEMORY.md",
        "pooler.md",
    }
    assert [(one.code, one.message[:1]) for one in reading.diagnostics] == [("not-memory", "2")]
    assert {os.path.basename(path) for path in reading.unread} == {"README.md", "guide.md"}


def test_a_named_folder_of_a_repository_is_read_whatever_it_holds(tmp_path: Path) -> None:
    """Who names `docs/` means it."""
    root = repository(tmp_path / "api")
    note(root / "docs", "guide.md")

    assert found(root / "docs") == {("acme/api", 1)}


def test_loose_folders_are_named_after_the_nearest_that_has_an_index(tmp_path: Path) -> None:
    """Below the path that was named; else that path's own folder."""
    note(tmp_path / "notes" / "web", "MEMORY.md")
    note(tmp_path / "notes" / "web" / "old", "b.md")
    note(tmp_path / "notes" / "loose", "c.md")

    assert found(tmp_path / "notes") == {("web", 2), ("notes", 2)}


def test_an_agents_own_memory_holds_everywhere(tmp_path: Path) -> None:
    """`~/.claude/agent-memory/<agent>` serves every project."""
    note(tmp_path / ".claude" / "agent-memory" / "reviewer", "MEMORY.md")

    assert found(tmp_path / ".claude" / "agent-memory" / "reviewer", home=tmp_path) == {("*", 2)}


def test_the_users_own_folder_is_own_even_inside_a_repository(tmp_path: Path) -> None:
    """Many people keep their home folder's settings in git."""
    home = repository(tmp_path / "home")
    folder = home / ".claude" / "projects" / "-x-demo"
    note(folder / "memory")
    transcript(folder, "/x/demo")

    assert found(folder / "memory", home=home) == {("demo", 2)}


def test_the_places_of_a_home_are_its_memory_folders(tmp_path: Path) -> None:
    """Of every project and of every agent, in the order of their names; the environment is not asked."""
    claude = tmp_path / ".claude"
    note(claude / "projects" / "-b" / "memory")
    note(claude / "projects" / "-a" / "memory")
    note(claude / "projects" / "-c" / "tool-results")
    note(claude / "agent-memory" / "reviewer", "MEMORY.md")

    places = registry.default_places(str(tmp_path))

    assert [place.removeprefix(f"{claude}/") for place in places] == [
        "projects/-a/memory",
        "projects/-b/memory",
        "agent-memory/reviewer",
    ]
    assert registry.default_places(str(tmp_path / "nobody")) == []


def test_the_clients_whole_folder_gives_its_memory_and_nothing_else(tmp_path: Path) -> None:
    """Plans, commands and tool results are Markdown too."""
    claude = tmp_path / ".claude"
    note(claude / "projects" / "-x-demo" / "memory")
    note(claude / "projects" / "-x-demo" / "s1" / "tool-results", "r.md")
    note(claude / "commands", "ship.md")
    transcript(claude / "projects" / "-x-demo", "/x/demo")

    assert found(claude, home=tmp_path) == {("demo", 2)}


def test_a_nested_repository_is_read_apart_and_neither_reading_takes_from_the_other(tmp_path: Path) -> None:
    """Each reading spares the files of the other, so nothing is retracted by the wrong trust."""
    note(tmp_path / "notes", "own.md")
    nested = repository(tmp_path / "notes" / "repo")
    note(nested / "sub", "theirs.md")

    low, high = sorted(registry.scan_paths([str(tmp_path / "notes")]), key=lambda reading: reading.trust)

    assert (low.trust, high.trust) == (1, 2)
    assert high.roots == (str(tmp_path / "notes"),)
    assert str(nested / "sub" / "theirs.md") in high.unread
    assert low.roots == ()


def test_a_file_inside_home_is_found_through_the_tilde(tmp_path: Path) -> None:
    """A path that no shell expanded still means the home folder that was passed in."""
    note(tmp_path / "notes")

    (reading,) = registry.scan_paths(["~/notes"], home=str(tmp_path))

    assert [draft.project for draft in reading.drafts] == ["notes"]

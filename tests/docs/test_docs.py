"""What the documents say is so: links lead somewhere, examples run, commands exist."""

import doctest
import itertools
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```[ ]*$", re.M | re.S)
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^()\s]+)(?:\s+\"[^\"]*\")?\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+(?P<target>\S+)", re.M)
HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*$", re.M)

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def prose(document: Path) -> str:
    """The text without code."""
    return re.sub(r"`[^`\n]*`", "code", FENCE.sub("", document.read_text(encoding="utf-8")))


def code(document: Path, languages: set[str]) -> list[str]:
    """The code blocks in one of these languages."""
    blocks = FENCE.finditer(document.read_text(encoding="utf-8"))
    return [block["code"] for block in blocks if block["language"] in languages]


def anchors(document: Path) -> set[str]:
    """The names that GitHub gives to the headings of a document."""
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    names: set[str] = set()
    for heading in HEADING.finditer(text):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading["title"])
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        numbered = (f"{slug}-{number}" for number in itertools.count(1))
        names.add(next(name for name in itertools.chain([slug], numbered) if name not in names))
    return names


def broken_links(document: Path) -> list[str]:
    text = prose(document)
    broken = []
    for match in [*LINK.finditer(text), *REFERENCE.finditer(text)]:
        target = match["target"].strip("<>")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (document.parent / name).resolve() if name else document
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(target)
    return broken


@each_document
def test_relative_links_lead_to_files_and_headings(document):
    assert broken_links(document) == []


def test_broken_links_are_seen(tmp_path):
    document = tmp_path / "page.md"
    document.write_text(
        "# One *two*\n## One two\n[a](#one-two) [b](#one-two-1) [c](#one-two-2) [d](no.md)\n"
        "[e](page.md#one-two) [f](page.md#no) [g](https://a.example/) `[h](no.md)`\n"
        "```\n[i](no.md)\n# No\n```\n[j]: no.txt\n",
        encoding="utf-8",
    )
    assert broken_links(document) == ["#one-two-2", "no.md", "page.md#no", "no.txt"]


@each_document
def test_python_examples_run(document):
    """Those with prompts, top to bottom in one namespace; those without are at least Python."""
    blocks = code(document, {"python", "pycon"})
    for block in blocks:
        if ">>>" not in block:
            compile(block, str(document), "exec")
    example = doctest.DocTestParser().get_doctest(
        "\n".join(block for block in blocks if ">>>" in block), {}, document.name, None, 0
    )
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert not report, "".join(report)


def shell_commands(document: Path) -> list[list[str]]:
    """The calls of pollwise and the bootstrap script in shell blocks, as words.

    Continued lines are joined; what stands behind a wide gap, and other programs in a pipe, is cut.
    """
    lines = "\n".join(code(document, {"", "sh", "bash", "shell", "console"}))
    commands = []
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        line = line.strip().removeprefix("$ ")
        if re.match(r"(\.venv/bin/)?pollwise |python3? bootstrap\.py", line):
            commands.append(
                shlex.split(re.sub(r" {3,}.*| (\|(?! --)|>|&&|;) .*", "", line), comments=True)
            )
    return commands


def unknown_part(command: TyperCommand | TyperGroup, words: list[str]) -> str | None:
    """The first subcommand or option among the words that the command does not know."""
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return words[0]
        command, words = command.commands[words[0]], words[1:]
    known = {"--help"}.union(*(p.opts + p.secondary_opts for p in command.params))
    options = (word.strip("[]").partition("=")[0] for word in words)
    return next((name for name in options if name.startswith("--") and name not in known), None)


@each_document
def test_pollwise_commands_are_accepted(document):
    for words in shell_commands(document):
        if words[0].endswith("pollwise"):
            command = typer.main.get_command(import_module("pollwise.cli.program").app)
            assert unknown_part(command, words[1:]) is None, shlex.join(words)


def test_unknown_commands_are_seen(tmp_path):
    document = tmp_path / "page.md"
    document.write_text(
        "```sh\n$ pollwise watch http://a.example/ --budget=5 | sort --unique   # a comment\n"
        ".venv/bin/pollwise watch [--budget 5] \\\n   --speed 3\npollwise guess\nls --all\n```\n",
        encoding="utf-8",
    )
    app = typer.Typer()
    app.command("status")(lambda: None)

    @app.command()
    def watch(urls: list[str], budget: str = "") -> None: ...

    command = typer.main.get_command(app)
    unknown = [unknown_part(command, words[1:]) for words in shell_commands(document)]
    assert unknown == [None, "--speed", "guess"]


@each_document
def test_bootstrap_commands_exist(document):
    for words in shell_commands(document):
        if words[1] == "bootstrap.py":
            assert words[2] in ("demo", "test")


@each_document
def test_scripts_exist(document):
    text = document.read_text(encoding="utf-8")
    scripts = set(re.findall(r"python3? ((?:benchmarks|tools)/\w+\.py)", text))
    assert {script for script in scripts if not (ROOT / script).is_file()} == set()


def test_the_readme_shows_both_bootstrap_commands():
    for readme in ROOT.glob("README.md"):
        shown = [words[1:3] for words in shell_commands(readme)]
        assert ["bootstrap.py", "demo"] in shown
        assert ["bootstrap.py", "test"] in shown


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = code(ROOT / "README.md", {"python"})
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert str(names["url"]).startswith("https://example.org/")
    assert len([*tmp_path.iterdir()]) == 1


def test_the_readme_is_of_one_screen():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert sum(len(line.split()) for line in lines) <= 650
    tables = [line for line in lines if line.startswith("|")]
    assert len(tables) <= 2 + 8  # one table, with its head
    assert len([row for row in tables if set(row) <= set("|-: ")]) == 1


def test_the_changelog_has_a_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[(Unreleased|\d+\.\d+\.\d+)\]", text, re.M)

"""Builds pollwise as it is released, installs it in a clean environment, and tries it.

    .venv/bin/python packaging/smoke_test.py

The wheel is made from the sdist, so that both are tried, and installed without any extra, with the
versions of requirements-base.lock. Needs the package registry. Exit status 1 if anything is not as
it should be.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_MEGABYTES = 320
"""What the packages may take, without pip and what it compiles ahead."""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="pollwise-smoke-") as name:
        folder = Path(name)
        wheel = build(folder)
        environment = folder / "environment"
        run(sys.executable, "-m", "venv", environment)
        pip = [environment / "bin" / "python", "-m", "pip", "--quiet"]
        before = megabytes(environment)
        lock = ROOT / "requirements-base.lock"
        run(*pip, "install", "--no-compile", "--require-hashes", "--requirement", lock)
        run(*pip, "install", "--no-compile", "--no-deps", wheel)
        size = megabytes(environment) - before
        print(f"installed: {size:.0f} MB beside pip")
        assert size < MOST_MEGABYTES, f"more than {MOST_MEGABYTES} MB"
        try_out(environment, folder)
    print("wheel and sdist install and work")


def build(folder: Path) -> Path:
    """The wheel, made from the sdist."""
    run(sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", folder)
    (sdist,) = folder.glob("*.tar.gz")
    pip = [sys.executable, "-m", "pip", "--quiet", "wheel", "--no-deps", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, sdist)
    (wheel,) = folder.glob("*.whl")
    return wheel


def try_out(environment: Path, folder: Path) -> None:
    """The command and the library, in the clean environment."""
    pollwise = environment / "bin" / "pollwise"
    print(run(pollwise, "--version", cwd=folder).strip())
    assert "watch" in run(pollwise, "--help", cwd=folder)
    words = ["--pages", 20, "--polls", 500, "--policy", "uniform", "--json"]
    answer = json.loads(run(pollwise, "simulate", *words, cwd=folder))
    assert answer["results"][0]["polls"] == 500
    db = folder / "pages.db"
    refused = subprocess.run(
        [pollwise, "serve", "--db", db], capture_output=True, text=True, cwd=folder, check=False
    )
    assert refused.returncode == 2, refused
    assert "pip install 'pollwise[serve]'" in refused.stderr, refused.stderr
    library = (
        "import pollwise; from pollwise import *;"
        "pages = [pollwise.Page(id=1, scope='h')];"
        "policy = pollwise.Uniform(); policy.add(pages); print(policy.select(0.0, 1).page_ids)"
    )
    assert "1" in run(environment / "bin" / "python", "-c", library, cwd=folder)
    for part in ("man/man1/pollwise.1",):
        assert (environment / "share" / part).is_file(), f"share/{part} is missing"


def run(*words: object, cwd: Path = ROOT) -> str:
    """What a command prints; its own message, and an exception, if it fails."""
    # Nothing of the environment that runs this may be found in the clean one.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    answer = subprocess.run(
        [str(word) for word in words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=variables,
        check=False,
    )
    if answer.returncode != 0:
        sys.exit(f"{words[0]} {words[1]} ... ended with status {answer.returncode}")
    return answer.stdout


def megabytes(folder: Path) -> float:
    """What the files of a folder take on disk."""
    files = (path.lstat() for path in folder.rglob("*"))
    return sum(512 * file.st_blocks for file in files) / 1e6


if __name__ == "__main__":
    main()

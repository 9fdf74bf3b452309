#!/usr/bin/env python3
"""From a fresh clone to a running pollwise, with nothing but Python 3.11 or later.

    python3 bootstrap.py demo [ARGUMENT...]   pollwise demo
    python3 bootstrap.py test [ARGUMENT...]   pytest

Makes `.venv` next to this file, installs the locked requirements and pollwise itself (editable)
into it, and runs the command with the further arguments. The installation is skipped while
`requirements.lock` and `pyproject.toml` are those of the last one. `test` also looks for a browser,
Prometheus and PostgreSQL, once: tests that need them are skipped without.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STAMP = VENV / "pollwise-installed"
LOOKED_FOR_BROWSER = VENV / "looked-for-browser"
LOOKED_FOR_PROMETHEUS = VENV / "looked-for-prometheus"
LOOKED_FOR_POSTGRES = VENV / "looked-for-postgres"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
CHOICE = (
    "`python3 bootstrap.py demo` installs pollwise and shows what it does,"
    " `python3 bootstrap.py test` installs it and runs its tests"
)


def main(arguments: "list[str]") -> int:
    """Run one command; gives its exit status (2: called wrongly, 1: not installed)."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if not arguments or arguments[0] not in ("demo", "test"):
        wrong = f"there is no command {arguments[0]!r}" if arguments else "name a command"
        print(f"bootstrap: {wrong}: {CHOICE}", file=sys.stderr)
        return 2
    if sys.version_info < (3, 11):
        version = ".".join(map(str, sys.version_info[:2]))
        print(
            f"bootstrap: this is Python {version}, pollwise needs 3.11 or later;"
            " run this script with a newer python3",
            file=sys.stderr,
        )
        return 1
    command, rest = arguments[0], arguments[1:]
    try:
        install()
        if command == "test":
            get_browser()
            get_prometheus()
            get_postgres()
    except InstallError as error:
        print(f"bootstrap: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bootstrap: stopped: the same command goes on with it", file=sys.stderr)
        return 130
    if command == "demo":
        program, words = "pollwise", ["demo", *rest]
    else:
        # Many tests wait for sockets and processes: four at a time keep two cores busy.
        program, words = "pytest", rest or ["--dist", "loadfile", "-n", "4"]
    # Ctrl-C reaches the program, too, and subprocess would kill it while it ends what it began.
    signal.signal(signal.SIGINT, lambda *_: None)
    return subprocess.call([str(BIN / program), *words], cwd=ROOT)


class InstallError(Exception):
    """The installation failed; the message says how to mend it."""


def install() -> None:
    """Make `.venv` hold what the lock file says, unless it does already."""
    stamp = fingerprint()
    if STAMP.is_file() and STAMP.read_text(encoding="utf-8") == stamp:
        return
    if not pip_works():
        print("bootstrap: making .venv", file=sys.stderr)
        made = subprocess.run(
            [sys.executable, "-m", "venv", str(VENV)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if made.returncode != 0 or not pip_works():
            reason = (made.stdout.strip().splitlines() or ["no reason given"])[0]
            raise InstallError(
                "cannot make .venv with pip in it; on Debian and Ubuntu install it with"
                f" `apt install python3-venv`, then remove .venv and try again ({reason})"
            )
    print("bootstrap: installing the locked requirements (once)", file=sys.stderr)
    # Python compiles what it loads; all that it never will would take time and 60 MB more.
    pip("install", "--no-compile", "--require-hashes", "-r", str(ROOT / "requirements.lock"))
    pip("install", "--no-deps", "--no-build-isolation", "-e", str(ROOT))
    STAMP.write_text(stamp, encoding="utf-8")


def get_browser() -> None:
    """Try to get a browser if there is none: from Debian's packages or, else, from playwright."""
    needs_none = "from pollwise.web.rendering.browser import require_browser; require_browser()"
    if LOOKED_FOR_BROWSER.exists() or quietly(str(PYTHON), "-c", needs_none):
        return
    print("bootstrap: getting a browser (once)", file=sys.stderr)
    if shutil.which("apt-get") and os.geteuid() == 0:
        quietly("apt-get", "update")
        got = quietly("apt-get", "install", "-y", "--no-install-recommends", "chromium")
    else:
        got = quietly(str(PYTHON), "-m", "playwright", "install", "chromium")
    if not got:
        print(
            "bootstrap: there is none to be had, so tests of rendered pages are skipped;"
            " install Chromium for them",
            file=sys.stderr,
        )
    LOOKED_FOR_BROWSER.touch()


def get_prometheus() -> None:
    """Try to put the programs of Debian's package of Prometheus into `.venv`, no service."""
    if LOOKED_FOR_PROMETHEUS.exists() or shutil.which("prometheus"):
        return
    print("bootstrap: getting Prometheus (once)", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        got = quietly("apt-get", "download", "prometheus", cwd=folder)
        got = got and all(quietly("dpkg", "-x", str(p), folder) for p in Path(folder).glob("*.deb"))
        for program in (Path(folder) / "usr" / "bin").glob("prom*"):
            shutil.copy(program, BIN)
    if not got:
        print(
            "bootstrap: there is none to be had, so its test is skipped; install it for that",
            file=sys.stderr,
        )
    LOOKED_FOR_PROMETHEUS.touch()


def get_postgres() -> None:
    """Try to install Debian's package of PostgreSQL; no cluster is made, tests start their own."""
    has_one = shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if LOOKED_FOR_POSTGRES.exists() or has_one:
        return
    print("bootstrap: getting PostgreSQL (once)", file=sys.stderr)
    got = False
    if shutil.which("apt-get") and os.geteuid() == 0:
        install = ("apt-get", "install", "-y", "--no-install-recommends")
        quietly("apt-get", "update")
        got = quietly(*install, "postgresql-common")
        settings = Path("/etc/postgresql-common/createcluster.conf")
        if got and settings.exists():  # else the package makes a cluster and starts it
            before = settings.read_bytes()
            settings.write_bytes(before + b"\ncreate_main_cluster = false\n")
            got = quietly(*install, "postgresql")
            settings.write_bytes(before)
    if not got:
        print(
            "bootstrap: there is none to be had, so its tests are skipped; install Debian's"
            " package postgresql for them",
            file=sys.stderr,
        )
    LOOKED_FOR_POSTGRES.touch()


def quietly(*words: str, cwd: "str | None" = None) -> bool:
    """Whether a program ended well, within ten minutes; what it prints is not shown."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        ended = subprocess.run(
            words,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=cwd,
            timeout=600,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


def fingerprint() -> str:
    """What an installation depends on: the two files, the interpreter, the place."""
    digest = hashlib.sha256()
    for name in ("requirements.lock", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    digest.update(f"{sys.version} {ROOT}".encode())
    return digest.hexdigest()


def pip_works() -> bool:
    """Whether `.venv` is there and has pip."""
    if not PYTHON.exists():
        return False
    return (
        subprocess.run([str(PYTHON), "-m", "pip", "--version"], capture_output=True).returncode == 0
    )


def pip(*arguments: str) -> None:
    """Run the pip of `.venv`, which prints what goes wrong."""
    status = subprocess.call(
        [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    )
    if status != 0:
        raise InstallError("pip could not install (its message is above); mend that and try again")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

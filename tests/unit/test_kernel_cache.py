"""Compiled code is kept from run to run, until a source of the package changes."""

import ast
import fcntl
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pollwise.kernel_cache
import pollwise.kernel_folder
from pollwise.kernel_folder import alone

CALLED = """\
from little.kernel_cache import kernel


@kernel(forceinline=True)
def addend(number):
    return {addend}


@kernel
def product(number):
    return {factor} * number
"""

CALLER = """\
import numba

from little.called import addend, product
from little.kernel_cache import kernel

assert "-kernels-" not in numba.config.CACHE_DIR, "others who use numba keep their own place"


@kernel
def answer(number):
    return product(number) + addend(number)


print(answer(10))
print(sum(answer.stats.cache_hits.values()))
"""


class Little:
    """A package of three modules, run in processes of their own."""

    def __init__(self, place: Path) -> None:
        self.package = place / "little"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").touch()
        for module in (pollwise.kernel_cache, pollwise.kernel_folder):
            source = Path(module.__file__).read_text()
            own = source.replace("pollwise.kernel_folder", "little.kernel_folder")
            (self.package / Path(module.__file__).name).write_text(own)
        (self.package / "caller.py").write_text(CALLER)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
        compiler = Path(pollwise.__file__).parents[1]
        self.environment["PYTHONPATH"] = os.pathsep.join(map(str, (place, compiler)))
        self.environment["XDG_CACHE_HOME"] = str(place / "cache")
        # Byte code of an edit within the same second would pass for that of the next one.
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"

    def edit(self, **numbers: int) -> None:
        (self.package / "called.py").write_text(CALLED.format(**numbers))

    def run(self) -> tuple[int, bool]:
        """The answer, and whether its code was kept from an earlier run."""
        command = [sys.executable, "-c", "import little.caller"]
        ended = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True
        )
        answer, hits = map(int, ended.stdout.split())
        return answer, hits > 0

    def look(self) -> None:
        """Have it make its folder, but compile nothing."""
        program = "from little.kernel_folder import kernel_folder; kernel_folder()"
        subprocess.run([sys.executable, "-c", program], env=self.environment, check=True)

    @staticmethod
    def folders(place: Path) -> list[str]:
        return sorted(path.name for path in place.glob("little-kernels-*"))


@pytest.fixture
def little(tmp_path: Path) -> Little:
    return Little(tmp_path)


def test_an_edit_in_a_called_function_is_seen_and_code_is_kept_otherwise(little: Little) -> None:
    little.edit(factor=2, addend=1)
    assert little.run() == (21, False)
    assert little.run() == (21, True)
    little.edit(factor=3, addend=1)
    assert little.run() == (31, False)
    little.edit(factor=3, addend=5)
    assert little.run() == (35, False)
    little.edit(factor=2, addend=1)
    assert little.run() == (21, True)
    assert len(little.folders(little.package / "__pycache__")) == 3


def test_only_the_versions_used_last_stay(little: Little) -> None:
    places = []
    for factor in range(5):
        little.edit(factor=factor, addend=0)
        little.look()
        places.append(set(little.folders(little.package / "__pycache__")))
    assert [len(folders) for folders in places] == [1, 2, 3, 3, 3]
    assert len(places[0] - places[-1]) == 1
    assert places[3] - places[2] <= places[4]


def test_numba_cache_dir_goes_first(little: Little, tmp_path: Path) -> None:
    little.environment["NUMBA_CACHE_DIR"] = str(tmp_path / "elsewhere")
    little.edit(factor=2, addend=1)
    assert [little.run(), little.run()] == [(21, False), (21, True)]
    assert len(little.folders(tmp_path / "elsewhere")) == 1
    assert not little.folders(little.package / "__pycache__")


def test_where_the_package_cannot_be_written_it_is_the_users_cache(
    little: Little, tmp_path: Path
) -> None:
    (little.package / "__pycache__").write_text("in the way")
    little.edit(factor=2, addend=1)
    assert [little.run(), little.run()] == [(21, False), (21, True)]
    assert len(little.folders(tmp_path / "cache" / "little")) == 1


def test_without_any_place_it_compiles_all_the_same(little: Little, tmp_path: Path) -> None:
    (little.package / "__pycache__").write_text("in the way")
    (tmp_path / "cache").write_text("in the way")
    little.edit(factor=2, addend=1)
    assert [little.run(), little.run()] == [(21, False), (21, False)]


def test_a_user_without_a_home_gets_no_folder_where_the_program_stands(
    little: Little, tmp_path: Path
) -> None:
    (little.package / "__pycache__").write_text("in the way")
    for name in ("XDG_CACHE_HOME", "HOME"):
        little.environment.pop(name, None)
    program = (
        "import pwd; pwd.getpwuid = {}.__getitem__\n"
        "from little.kernel_folder import kernel_folder; print([kernel_folder()])"
    )
    stands = tmp_path / "stands"
    stands.mkdir()
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command,
        cwd=stands,
        env=little.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "['']\n"
    assert not list(stands.iterdir())


def test_constants_of_types_count_as_sources(little: Little) -> None:
    little.edit(addend=1, factor=2)
    little.run()
    (little.package / "types.py").write_text("CHANGED = 1\n")
    assert little.run() == (21, False)
    assert little.run() == (21, True)


def test_files_whose_constants_kernels_use_count_as_sources() -> None:
    package = Path(pollwise.kernel_folder.__file__).parent
    constants = pollwise.kernel_folder._CONSTANTS
    assert all((package / name).is_file() for name in constants)
    sources = {path: path.read_text() for path in package.rglob("*.py")}
    for source in (text for text in sources.values() if "kernel_cache" in text):
        tree = ast.parse(source)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        kernels = [
            one for one in functions if "kernel" in "".join(map(ast.unparse, one.decorator_list))
        ]
        used = {node.id for one in kernels for node in ast.walk(one) if isinstance(node, ast.Name)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pollwise."):
                file = package.parent.joinpath(*node.module.split(".")).with_suffix(".py")
                names = {alias.name for alias in node.names if alias.name.isupper()}
                if names & used and "kernel_cache" not in sources[file]:
                    assert str(file.relative_to(package)) in constants, names & used


def test_what_was_compiled_is_noted_for_the_present_sources(little: Little) -> None:
    def asked() -> list[str]:
        program = (
            "from little.kernel_folder import is_compiled, note_compiled\n"
            "import sys; print(is_compiled('watch')); note_compiled('watch')\n"
            "print(is_compiled('watch'), is_compiled('collect'), 'numba' in sys.modules)"
        )
        command = [sys.executable, "-c", program]
        ended = subprocess.run(
            command, env=little.environment, capture_output=True, text=True, check=True
        )
        return ended.stdout.split()

    little.edit(factor=2, addend=1)
    assert asked() == ["False", "True", "False", "False"]
    assert asked() == ["True", "True", "False", "False"]
    little.edit(factor=3, addend=1)
    assert asked() == ["False", "True", "False", "False"]


def test_nothing_is_noted_where_nothing_can_be_kept(little: Little, tmp_path: Path) -> None:
    (little.package / "__pycache__").write_text("in the way")
    (tmp_path / "cache").write_text("in the way")
    program = (
        "from little.kernel_folder import is_compiled, note_compiled\n"
        "note_compiled('watch'); print(is_compiled('watch'))"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command, env=little.environment, capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "False"


def test_what_another_process_compiles_is_waited_for(little: Little) -> None:
    little.edit(factor=2, addend=1)
    little.run()
    [lock] = (little.package / "__pycache__").glob("little-kernels-*/*/caller.answer-*.lock")
    kept = {path: path.read_bytes() for path in lock.parent.glob("caller.answer-*.nb?")}
    assert len(kept) == 2
    for path in kept:
        path.unlink()
    command = [sys.executable, "-c", "import little.caller"]
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        process = subprocess.Popen(command, env=little.environment, stdout=subprocess.PIPE)
        while not re.search(rf"-> FLOCK .* {process.pid} ", Path("/proc/locks").read_text()):
            assert process.poll() is None
            time.sleep(0.05)
        for path, content in kept.items():
            path.write_bytes(content)
    answer, hits = process.communicate(timeout=60)[0].split()
    assert (answer, hits) == (b"21", b"1")


def test_nobody_is_waited_for_where_no_file_can_be_made(tmp_path: Path) -> None:
    with alone(tmp_path / "a folder" / "that is made" / "lock"):
        assert (tmp_path / "a folder" / "that is made" / "lock").exists()
    (tmp_path / "in the way").touch()
    with alone(tmp_path / "in the way" / "lock"):
        pass

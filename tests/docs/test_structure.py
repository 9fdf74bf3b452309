"""docs/structure.md names every room of the package, and nothing that is not there."""

import re
from pathlib import Path

import pollwise

PACKAGE = Path(pollwise.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "structure.md").read_text(encoding="utf-8")
ROOMS = {
    path.stem
    for path in PACKAGE.iterdir()
    if (path.suffix == ".py" or (path / "__init__.py").is_file()) and not path.stem.startswith("__")
}


def there(name: str) -> bool:
    """Whether it is a module, a folder, or a name in a module, below the package or the clone."""
    place = name.split("(")[0]
    if (PACKAGE / place).is_dir() or (PACKAGE.parents[1] / place).exists():
        return True
    module, _, member = place.rpartition(".")
    file = PACKAGE / f"{place}.py"
    if file.is_file() or (PACKAGE / place).is_file():
        return True
    owner = PACKAGE / f"{module}.py"
    return owner.is_file() and re.search(rf"\b{member}\b", owner.read_text("utf-8")) is not None


def test_every_room_is_in_the_table() -> None:
    table = PAGE.partition("## The way of one poll")[0]
    assert {room for room in ROOMS if f"`{room}`" not in table} == set()


def test_every_place_named_is_there() -> None:
    places = {name for name in re.findall(r"`([^`]+)`", PAGE) if "/" in name}
    assert len(places) > 20
    assert {place for place in places if not there(place)} - {".venv/bin/lint-imports"} == set()

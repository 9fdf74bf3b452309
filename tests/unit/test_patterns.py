"""All regular expressions of the package, as it compiles them when its modules are loaded."""

import subprocess
import sys

# Python 3.11.0 to 3.11.4 leave a possessive repeat (`*+`) of a group where its last, failing turn
# got to (https://github.com/python/cpython/issues/106052). With an empty alternative none fails.
_LISTED = r"""
import importlib, pkgutil, re, sys, warnings
from re import _constants as codes, _parser as parser

warnings.simplefilter("ignore")
compiled, compile_pattern = [], re.compile

def noted(pattern, flags=0):
    caller = sys._getframe(1)
    if "pollwise" in caller.f_globals.get("__name__", ""):
        compiled.append((f"{caller.f_code.co_filename}:{caller.f_lineno}", pattern, flags))
    return compile_pattern(pattern, flags)

def parts(tree):
    for operation, given in tree:
        yield operation, given
        for part in given if isinstance(given, (list, tuple)) else [given]:
            for inner in part if isinstance(part, list) else [part]:
                if isinstance(inner, parser.SubPattern):
                    yield from parts(inner)

def is_one_character(group):
    return len(group) == 1 and group[0][0] in {
        codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY
    }

def has_an_empty_alternative(group):
    return len(group) == 1 and group[0][0] is codes.BRANCH and len(group[0][1][1][-1]) == 0

re.compile = noted
import pollwise

for module in pkgutil.walk_packages(pollwise.__path__, "pollwise."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ImportError:  # an extra is not installed
            continue
print(len(compiled), file=sys.stderr)
for place, pattern, flags in compiled:
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    for operation, given in parts(parser.parse(text, flags)):
        if operation is codes.POSSESSIVE_REPEAT:
            if not is_one_character(given[2]) and not has_an_empty_alternative(given[2]):
                print(place)
"""


def test_possessive_repeats_of_groups_have_an_empty_alternative():
    run = subprocess.run(
        [sys.executable, "-c", _LISTED], capture_output=True, text=True, timeout=300, check=True
    )
    assert int(run.stderr.split()[-1]) > 100, "the expressions were not found"
    assert run.stdout == ""

"""How Sphinx makes the site: the Markdown of docs/ and of the root, offline, no other host asked.

    python -m sphinx -W --keep-going -c docs . build/site

The sources are those of the whole repository, so that a link between two files is the same on the
site and on GitHub.
"""

import runpy
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).parents[1]

project = "pollwise"
project_copyright = "pollwise contributors"
release = runpy.run_path(str(ROOT / "src" / "pollwise" / "version.py"))["__version__"]

root_doc = "docs/index"
include_patterns = ["docs/**.md", "*.md", "src/pollwise/**/*.md"]
extensions = ["myst_parser"]
exclude_patterns = [".*", "build"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
smartquotes = False  # options begin with two hyphens

html_theme = "furo"
html_title = f"pollwise {release}"
html_show_sphinx = False
html_copy_source = False
# The root of the site leads to its first page.
html_additional_pages = {"index": "to_first_page.html"}
templates_path = ["templates"]


def setup(app: Sphinx) -> None:
    """Have formulas written as MathML, which browsers show without a script."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_formula, None))


html_math_renderer = "mathml"


def visit_math(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_formula(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    translator.body.append(f"<div>{tex2mathml(node.astext(), as_block=True)}</div>\n")
    raise nodes.SkipNode

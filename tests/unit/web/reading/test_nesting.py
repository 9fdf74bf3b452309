import time

import pytest

from pollwise.web.reading.nesting import DEEPEST, is_tangled, nests_deeply
from pollwise.web.reading.page_parser import parse_page
from pollwise.web.reading.page_tree import tree_of


def numbered(piece, times):
    return "".join(piece.format(n) for n in range(times))


# A tree by the standard takes many seconds for each of these, or gigabytes.
HOSTILE = {
    "elements": "<div>" * 100_000,
    "lists": "<ul><li>" * 60_000,
    "end tags of nothing": "<div>" * 50_000 + "</x>" * 50_000,
    "end tags of others": "<div></x>" * 60_000,
    "end tags in comments": "<div><!-- </div> -->" * 30_000,
    "end tags in attributes": "<div x='</div>'>" * 30_000,
    "end tags in scripts": "<div><script></div></script>" * 30_000,
    "end tags behind a wall": ("<span>" * 100 + "<div>" + "</span>" * 100) * 1_000,
    "end tags out of a cell": ("<div>" * 60 + "<table><td>" + "</div>" * 60) * 2_000,
    "end tags out of an object": ("<div>" * 60 + "<object>" + "</div>" * 60) * 2_000,
    "empty elements that are none": "<div/>" * 100_000,
    "empty elements out of a drawing": "<svg><p>" + "<x/>" * 100_000,
    "tags in a drawing's style": "<svg><style>" + "<div>" * 100_000,
    "tags in a drawing's text": "<svg><![CDATA[>" + "<div></div>]]><![CDATA[>" * 30_000,
    "a script in a script": ("<div>" * 9 + "<script><!--<script></script>" + "</div>" * 9) * 12_000,
    "an attribute that seems quoted": '<p ="><div><div>">' * 30_000,
    "formatting elements": "<b><div></b>" * 40_000,
    "formatting elements that end": "<b><p></b>" * 40_000,
    "formatting elements that differ": numbered("<b {}>", 30_000) + "<div>" * 12_000,
    "paragraphs": "<p>" + numbered("<b {}>", 5_000) + "</p>" + "<p>x" * 50_000,
    "few paragraphs": "<p>" + numbered("<b {}>", 800) + "</p>" + "<p>x" * 900,
    "adoption": numbered("<i {}>", 4_000) + "<div>" * 4_000 + "</i>" * 4_000,
    "links": "<a href=x><div>" * 40_000,
    "links and formatting": "<a><b><a>" * 40_000,
    "attributes": "<p " + numbered("a{} ", 150_000) + ">",
    "attributes of the body": numbered("<body a{}=1>", 60_000),
    "attributes of the body, many at a time": (
        "".join(f"<body {numbered(f'a{n}x{{}} ', 1_300)}>" for n in range(60))
    ),
    "attributes of the root between slashes": (
        "".join(f"<HTML/{numbered(f'a{n}x{{}}/', 1_300)}>" for n in range(60))
    ),
    "attributes of the body in a drawing's style": (
        "".join(f"<svg><style><body {numbered(f'a{n}x{{}} ', 900)}>" for n in range(80))
    ),
    "attributes between slashes": "<p/" + numbered("a{}/", 80_000) + ">",
    "attributes between quoted ends of tags": (
        "<p " + "".join(numbered(f"a{n}x{{}} ", 500) + f"b{n}='>' " for n in range(160)) + ">"
    ),
    "attributes behind what seems to be quoted": (
        "=\"> <p x='>' "
        + "".join(numbered(f"a{n}x{{}} ", 500) + f'b{n} = ">"' for n in range(160))
        + ">"
    ),
    "values in each other that end no tag": "<body x='<body y=\">" * 30_000,
    "roots in values of others": "<body/x=" * 100_000,
    "options": "<select>" + "<option>x" * 100_000,
    "tables": "<table><tr><td>" * 40_000,
    "text in tables": "<table>" + "x<b>" * 60_000,
    "captions": "<table><caption>" * 40_000,
    "templates": "<template>" * 60_000,
    "drawings": "<svg><g>" * 60_000,
    "definitions": "<li><dd>" * 60_000,
    "forms that end around others": "<form><div></form>" * 30_000,
    "cells of no table": "<td><div>" * 50_000,
    "cells behind a table": "<table><table></table>" + "<td><div>" * 50_000,
    "cells behind a wall": "<table><td><object></table>" + "<td><div>" * 50_000,
    "cells in a drawing": "<svg><td><div></td></svg>" * 30_000,
    "links in a drawing": "<svg>" + "<a>" * 100_000,
    "elements without content in a drawing": "<svg>" + "<col>" * 100_000,
    "tags in a style in a link in a drawing": "<svg><a><style>" + "<g>" * 100_000,
    "values that end in a slash": "<svg>" + "<g r=1/>" * 60_000,
    "unknown elements in HTML in a drawing": "<svg><foreignObject>" + "<x/>" * 100_000,
    "what ends a drawing before it ends": "<svg><g><span></g></svg>" * 30_000,
    "sections behind a drawing": "<svg><section>" + "<span><summary><span><p>" * 20_000,
    "titles": "<div>" * 900 + "<title></title>" * 60_000,
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_pages_that_are_made_to_hurt(html):
    """Times are those of the processor, and many times what is needed."""
    begun = time.process_time()
    page = parse_page(html.encode() + b"</svg></table><p>end", "text/html", "http://x.org/")
    assert time.process_time() - begun < 5
    assert sum(map(len, page.blocks)) <= len(html)
    tree = tree_of(html.encode())
    assert sum(1 for _ in tree.root.traverse(include_text=True)) < 500_000


@pytest.mark.parametrize(
    "piece",
    [
        "<div><p>one<li>two<dd>three</div>",
        "<ul><li><p>one<li>two</ul>",
        "<table><tr><td><b>one</b><td>two<tr><th>three</table>",
        "<p><i><b>one</i></b>",
        "<p><font color=red>one<p>two",
        "<div><a name=one><h2>one</h2><p>two</div>",
        "<section><h2>one</h2><a name=two><p>three</section>",
        "<svg><g><path d='M0'/><circle r=1 /></g></svg>",
        "<svg viewBox='0'><a href=x><text>one</text></a><use href='#x'/></svg><p>two",
        "<svg><foreignObject><div>one</div></foreignObject></svg><ul><li>one<li>two</ul>",
        "<svg/><ul><li>one<li>two</ul>",
        "<table><tr><td><table><tr><td>one<td>two</table><td><p>three</table>",
        "<table><form><tr><td><p>one</td></tr></form></table>",
        "<script>if (1 < 2) x = '<div>'</script>",
        "<dl><dt>one<dd>two</dl><hr><br/><img src=x>",
        "<select><option>one<option>two</select>",
        "<ruby>one<rt>two</ruby>",
        "<object><param name=x><p>one</object>",
        "<p onclick='if (a > b) c()' title=\"</p>\">one</p>",
    ],
)
def test_long_pages_are_not_deep(piece):
    assert not nests_deeply(f"<html><body><main>{piece * 12_000}</main>".encode())


def test_where_the_bound_is():
    deep, deeper = (b"<div>" * depth for depth in (DEEPEST - 1, DEEPEST + 1))
    assert (nests_deeply(deep), nests_deeply(deeper)) == (False, True)
    assert not is_tangled(deeper)  # it takes no time worth mentioning
    assert is_tangled(deeper + b"<div></div>" * 11_000)


@pytest.mark.parametrize(
    "piece",
    [
        "<p class='[&>svg]:m-2' onclick=\"if (a > b) c()\">one</p>",
        "<script>if (a = '>' && b > 'x' + \"y=\\\">\") c('<body>')</script><p>two",
        "<p>x = \"one <b>two</b> don't 'three",
    ],
)
def test_few_attributes_are_not_taken_for_many(piece):
    assert not is_tangled(f"<html lang=en><body class='a > b'>{piece * 900}".encode())


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_short_documents(size):
    assert not is_tangled(b"<<<"[:size])
    assert not is_tangled(b">>>"[:size])


def test_what_is_left_of_a_tangled_page():
    html = (
        "<title>News</title><base href=/z/><script><p></script><style>p</style>"
        + "<ul><li>" * 12_000
    ) + (
        "one <span>two</span><a href=c class=d>three</a><table><td>four<!-- <p> --></table>"
        "<iframe src=e></iframe><meta name=robots content=noindex>"
    )
    page = parse_page(html.encode(), "text/html", "http://x.org/")
    assert page.title == "News"
    assert page.blocks == ("one twothree", "four")
    assert [(link.url, link.anchor, link.place) for link in page.links] == [
        ("http://x.org/z/c", "three", "body/p/a.d"),
        ("http://x.org/z/e", "", "body/p/iframe"),
    ]
    assert page.noindex

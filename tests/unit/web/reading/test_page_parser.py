import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from pollwise.errors import InputError
from pollwise.web.reading.page_parser import MAX_LINKS, MAX_TEXT, Link, parse_page

URL = "https://x.org/a/b.html?q#f"
HTML = "text/html; charset=utf-8"


def parse(html, content_type=HTML, **options):
    body = html if isinstance(html, bytes) else html.encode()
    return parse_page(body, content_type, URL, **options)


@pytest.mark.parametrize(
    ("html", "blocks"),
    [
        ("<p>one <b>t</b>wo\n\t three</p>four", ["one two three", "four"]),
        ("<p>one<p>two<ul><li>three<li>four</ul>five", ["one", "two", "three", "four", "five"]),
        ("<table><tr><td>a<td>b<tr><th>c</table>d", ["a b", "c", "d"]),
        ("a<br>b<hr>c", ["a b", "c"]),
        ("a<span>b</span>c<wbr>d<img alt=e>", ["abcd"]),
        ("a &amp; b&nbsp;c &lt;p&gt; &eacute;", ["a & b c <p> é"]),
        ("a<script>b</b><p>c</script>d", ["ad"]),
        ("a<SCRIPT>b</SCRIPT >c<style>d</style>e<textarea>f</textarea>", ["ace"]),
        ("a<script>b</scripty>c", ["a"]),
        ("<svg><style/></svg><p>a", ["a"]),
        ("a<!-- <p>b -- > --!>c<!--->d<!x>e<?y>f</>g", ["acdefg"]),
        ("a<!-- b", ["a"]),
        ("<template>a<p>b<script></template>c</script></template>d", ["d"]),
        ("<template><table><tr><td>a</template>b", ["b"]),
        ("a<p hidden>b<p>c", ["a", "c"]),
        ("<div hidden><div>a</div>b<p>c</div>d", ["d"]),
        ("a<span style='color: red; DISPLAY : none'>b<span>c</span>d</span>e", ["ae"]),
        ("<p>a<span hidden>b</p>c", ["a", "c"]),
        ("<p data-x=hidden class=none>a", ["a"]),
        ("<noscript>a<p>b</noscript>c", ["c"]),
        ("<div><table><td></div>a</table></div>b", ["a", "b"]),
        ("<a title='x>y' class=\">\">a</a>", ["a"]),
        ("1 < 2 > 0", ["1 < 2 > 0"]),
        ("&#" + "9" * 5000 + ";", ["\ufffd"]),
        ("<p>a<noscript><p>b</noscript>c", ["a", "c"]),
        ("<noscript><style></style><p>a<div></noscript><title>b</title><p>c", ["c"]),
        ("<table>a<tr><td>b</table>c", ["a", "b", "c"]),
        ("<b><p>a</b>b<p>c", ["ab", "c"]),
        ("a\0b", ["a\ufffdb"]),
        (" \n<p> </p>", []),
        ("", []),
    ],
)
def test_text_is_in_blocks(html, blocks):
    assert list(parse(html).blocks) == blocks


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> a\n<b> &amp; </title>c", "a <b> &"),
        ("<title></title><title>a</title><title>b</title>", "a"),
        ("<svg><title/></svg>a", ""),
        ("<title>" + "a" * 1000, "a" * 300),
    ],
)
def test_title(html, title):
    assert parse(html).title == title


@pytest.mark.parametrize(
    ("html", "links"),
    [
        ("<a href='../c#d'>t</a>", [("https://x.org/c", "t")]),
        ("<A HREF=c?a=1&amp;b&copy=2> t <b>u</b></A>", [("https://x.org/a/c?a=1&b&copy=2", "t u")]),
        ("<a href='\n c\td '>t", [("https://x.org/a/cd", "t")]),
        ("<base href=/z/><base href=/y/><a href=c>t", [("https://x.org/z/c", "t")]),
        ("<base href='mailto:a'><a href=c>t", [("https://x.org/a/c", "t")]),
        ("<a href=#top>t</a><a href=>u</a><a href=b.html?q>v</a><a name=n>w</a>", []),
        ("<a href=mailto:a>t<a href=javascript:b>u<a href=http://[>v<a href=//u:p@h/>w", []),
        ("<a href=//H.ORG>t</a>", [("https://h.org/", "t")]),
        ("<a href=c>t<a href=d>u", [("https://x.org/a/c", "t"), ("https://x.org/a/d", "u")]),
        ("<ul><li><a href=c>t<li>u</ul>", [("https://x.org/a/c", "t")]),
        ("<a href=c><div>t</div><p>u</p></a>v", [("https://x.org/a/c", "tu")]),
        ("<a href=c><img><img alt=i></a>", [("https://x.org/a/c", "i")]),
        ("<a href=c title=t aria-label=l></a>", [("https://x.org/a/c", "l")]),
        ("<a href=c title='t &amp; u'> </a>", [("https://x.org/a/c", "t & u")]),
        ("<a href=c>" + "t " * 1000, [("https://x.org/a/c", ("t " * 50).strip())]),
        (
            "<a href=c#1></a><a href=d>d</a><a href=c#2>c</a><a href=c>e</a>",
            [("https://x.org/a/c", "c"), ("https://x.org/a/d", "d")],
        ),
        ("<map><area href=c alt=t></map>", [("https://x.org/a/c", "t")]),
        (
            "<frameset><frame src=c title=t><frame src=d></frameset>",
            [("https://x.org/a/c", "t"), ("https://x.org/a/d", "")],
        ),
        ("a<iframe src=d><a href=e></iframe>", [("https://x.org/a/d", "")]),
        (
            "<p><noscript><a href=c>t</a><iframe src=d></iframe></noscript>",
            [("https://x.org/a/c", "t"), ("https://x.org/a/d", "")],
        ),
        ("<a href=c>t<table><a href=d>u", [("https://x.org/a/c", "t"), ("https://x.org/a/d", "u")]),
        ("<div hidden><a href=c>t</a></div>", [("https://x.org/a/c", "t")]),
        ("<template><a href=c>t</a><iframe src=d></iframe></template>", []),
        ("<!--<a href=c>--><script>'<a href=c>'</script>", []),
        ("<link rel=next href=c><link rel=stylesheet href=d>", [("https://x.org/a/c", "")]),
        ("<meta http-equiv=Refresh content='0; URL=\"c\"'>", [("https://x.org/a/c", "")]),
        ("<meta http-equiv=refresh content='5;c?a=1;2'>", [("https://x.org/a/c?a=1;2", "")]),
        ("<meta http-equiv=refresh content=5>", []),
        ("<noscript><meta http-equiv=refresh content='0;c'></noscript>", []),
        (f"<a href={'c' * 5000}>t</a>", []),
        ("<link rel=next href=c title=n><a href=c>t</a>", [("https://x.org/a/c", "t")]),
    ],
)
def test_links(html, links):
    assert [(link.url, link.anchor) for link in parse(html).links] == links


@pytest.mark.parametrize(
    ("html", "place"),
    [
        ("<html><body class=z><a href=c>", "body/a"),
        ("<div class='nav main'><ul><li><b><a class=x href=c>", "body/div.nav/ul/li/a.x"),
        ("<p>a<p>b<p><a href=c>", "body/p/a"),
        ("<p><div><a href=c>", "body/div/a"),
        ("<ul><li>a<li>b<ul><li><a href=c>", "body/ul/li/ul/li/a"),
        ("<table><tr><td>a<td>b<tr><td><a href=c>", "body/table/tbody/tr/td/a"),
        ("<table><tbody><tr><td><tbody><tr><td><a href=c>", "body/table/tbody/tr/td/a"),
        ("<dl><dt>a<dd>b<dt><a href=c>", "body/dl/dt/a"),
        ("<div><span></div></span><a href=c>", "body/a"),
        ("<div></p></b></ul><a href=c>", "body/div/a"),
        ("<div data-class=n class = 'm'><a href=c>", "body/div.m/a"),
        (
            "<div class=" + "d" * 50 + ">" + "<div>" * 40 + "<a href=c>",
            "/".join(["div"] * 19 + ["a"]),
        ),
        ("<link rel=prev href=c>", "link.prev"),
        ("<meta http-equiv=refresh content='0;c'>", "meta.refresh"),
    ],
)
def test_places_of_links(html, place):
    assert [link.place for link in parse(html).links] == [place]


@pytest.mark.parametrize(
    ("html", "around"),
    [
        ("<p>See <a href=c>t</a> for <i>audio</i>.", ["See for audio."]),
        ("<p>one <a href=c>t</a> two <a href=d>u</a> three", ["one two", "two three"]),
        ("<p>one <a href=c>t</a> two <a href=#>u</a> three", ["one two"]),
        ("<p>one <a href=c>t</a> two <a name=u>u</a> three", ["one two u three"]),
        ("<p>one<p><a href=c>t</a> | <p>two", [""]),
        ("<ul><li><a href=c>t</a> one<li><a href=d>u</a><li>two</ul>", ["one", ""]),
        ("<table><tr><td><a href=c>t</a><td>one<tr><td><a href=d>u</a>", ["one", ""]),
        ("<dl><dt><a href=c>t</a> (n)<dd><p>one<p>two</dl>", ["(n) one"]),
        ("<dl><dt><a href=c>t</a><dd>one <a href=d>u</a> two</dl>", ["one", "one two"]),
        ("<dl><dt><a href=c>t</a><dd></dl><p>one", [""]),
        ("<div><a href=c>t</a></div> <!-- --> <div><p>one</div>", ["one"]),
        ("<div><a href=c>t</a> one</div><div>two</div>", ["one"]),
        ("<div><div><a href=c>t</a></div></div><div>one</div>", [""]),
        ("<div><a href=c>t</a></div><ul><li>one</ul><div>two</div>", [""]),
        ("<div><a href=c>t</a> | <a href=d>u</a></div><div>one</div>", ["", ""]),
        ("<h2><a href=c>t</a></h2><p>one<p>two", ["one"]),
        ("<p><a href=c>t</a></p><p>one", [""]),
        ("<p>one <a href=c><img alt=t></a></p><p>two", ["one"]),
        ("<p><a href=c><img alt=t></a></p><p>two", [""]),
        ("<a href=c><p>t</p><p>u</p></a> one", ["one"]),
        ("<p>one <a href=c></a> two <a href=c>t</a> three", ["two three"]),
        ("<p>one <a href=c>t</a> two <a href=c>u</a> three", ["one two"]),
        ("<p>one <b hidden>two</b> <a href=c>t</a> <b style='display:none'>three</b>", ["one"]),
        ("<p>one <a hidden href=c>t</a> two", [""]),
        ("<p>one <area href=c>", [""]),
        ("<p>" + "x " * 90 + "<a href=c>t</a>" + " y" * 40, ["x " * 10 + "y " * 39 + "y"]),
        ("<p>x <a href=c>t</a>" + " yy" * 40, ["yy " * 33 + "y"]),
    ],
)
def test_the_text_around_links(html, around):
    assert [link.around for link in parse(html).links] == around


@pytest.mark.parametrize(
    ("html", "nofollow"),
    [
        ("<a href=c>t", False),
        ("<a href=c rel='external NoFollow'>t", True),
        ("<a href=c rel=ugc>t", True),
        ("<area href=c rel=sponsored>", True),
        ("<a href=c rel=nofollow>t</a><a href=c>u</a>", False),
        ("<a href=c>t</a><a href=c rel=nofollow>u</a>", False),
        ("<a href=c rel=nofollow></a><a href=c rel=ugc>u</a>", True),
    ],
)
def test_links_that_nobody_vouches_for(html, nofollow):
    assert [link.nofollow for link in parse(html).links] == [nofollow]


@pytest.mark.parametrize(
    ("html", "header", "noindex", "nofollow"),
    [
        ("", "", False, False),
        ("<meta name=robots content='NoIndex, nofollow'>", "", True, True),
        ("<meta name=robots content=none>", "", True, True),
        ("<meta name=Pollwise content=noindex>", "", True, False),
        ("<meta name=googlebot content=noindex>", "", False, False),
        ("<template><meta name=robots content=noindex></template>", "", False, False),
        ("<meta name=robots content=noindex>", "nofollow", True, True),
        ("", "googlebot: noindex, nofollow\npollwise: nofollow", False, True),
        ("", "max-snippet: 20, NOINDEX", True, False),
        ("", "unavailable_after: 25 Jun 2010 15:00:00 PST, none", True, True),
    ],
)
def test_rules_for_robots(html, header, noindex, nofollow):
    page = parse(html, x_robots_tag=header)
    assert (page.noindex, page.nofollow) == (noindex, nofollow)


def test_the_header_holds_for_documents_without_text():
    page = parse(b"\x89PNG", "image/png", x_robots_tag="noindex")
    assert page.noindex
    assert page.reason == "image/png is neither HTML nor plain text"


def test_canonical_and_language():
    page = parse("<html lang=de-AT><link rel='x canonical' href=/c#d><link rel=canonical href=e>")
    assert (page.canonical, page.language) == ("https://x.org/c", "de-AT")
    assert parse("<meta http-equiv=content-language content=fr>").language == "fr"
    assert parse("").canonical is None


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("<p>äö€", HTML, "äö€"),
        ("<p>äö".encode("latin-1"), "text/html; charset=ISO-8859-1", "äö"),
        ("<p>äö€".encode("cp1252"), "text/html", "äö€"),
        ("<p>äö€", "text/html", "äö€"),
        ("<p>ä".encode()[:-1], "text/html", None),
        ("<p>aä".encode()[:-1], "text/html", "a"),
        ("\ufeff<p>ä".encode("utf-16-le"), HTML, "ä"),
        ("\ufeff<p>ä".encode("utf-16-be"), None, "ä"),
        ("\ufeff<p>ä".encode(), "text/html; charset=latin1", "ä"),
        ("<p>日本".encode("shift_jis"), 'text/html; charset="Shift_JIS"', "日本"),
        ("<meta charset=euc-kr><p>한국".encode("euc-kr"), "text/html", "한국"),
        (
            "<meta content='text/html; charset=koi8-r'><p>мир".encode("koi8-r"),
            "text/html; charset=nonsense",
            "мир",
        ),
        ("<meta charset=utf-16><p>ä", "text/html", "ä"),
        ("<?xml version='1.0' encoding='iso-8859-2'?><p>ł".encode("iso8859-2"), "text/xml", "ł"),
        (b"<p>a\xff", HTML, "a\ufffd"),
        (b"<p>a\x81", "text/html; charset=windows-1252", "a\ufffd"),
        ("<p>ä", "text/html; charset=hex", "ä"),
        ("<p>ä", "text/html; charset=punycode", "ä"),
        ("<p>ä", "text/html; charset=undefined", "ä"),
    ],
)
def test_encodings(body, content_type, text):
    assert parse(body, content_type).blocks == (() if text is None else (text,))


@pytest.mark.parametrize(
    ("body", "content_type", "blocks"),
    [
        ("a\nb\r\n\r\nc\n \nd<p>", "text/plain", ["a b", "c", "d<p>"]),
        ("a & b", None, ["a & b"]),
        ("<p>a", "", ["a"]),
        (
            "<html><div/><p>a<b/>b</p><p hidden='hidden'/>c</html>",
            "application/xhtml+xml",
            ["ab", "c"],
        ),
        ("<rss><item><title>a</title>b<x><![CDATA[<i>c</i>&amp;]]></x>", "text/xml", ["b", "c&"]),
        (b"%PDF-1.7 <p>", None, []),
        (b"a\0b", None, []),
        ('{"a": 1}', "application/json", []),
        ("<svg><text>a</text></svg>", "image/svg+xml", []),
        ("a", "application/octet-stream", []),
    ],
)
def test_other_kinds_of_documents(body, content_type, blocks):
    page = parse(body, content_type)
    assert list(page.blocks) == blocks
    assert bool(page.reason) == (blocks == [])


def test_the_url_must_be_one():
    with pytest.raises(InputError):
        parse_page(b"", HTML, "about:blank")


_PIECES = """< > </ <a <p <table <td </td </table <template </template <script </script <title
    </title <!-- --> href= ' " /c ?d #e & &amp; &#x hidden = a"""


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from(_PIECES.split()) | st.text(max_size=3), max_size=40)
    .map("".join)
    .map(str.encode),
    st.sampled_from([HTML, None, "", "text/plain", "text/xml", "text/html; charset=utf-16"]),
)
def test_any_bytes_can_be_parsed(body, content_type):
    page = parse(body, content_type)
    alone = parse_page(body, content_type, URL, text_alone=True)
    assert (alone.title, alone.blocks) == (page.title, page.blocks)
    assert pickle.loads(pickle.dumps(page)) == page
    assert all(block and block == " ".join(block.split()) for block in page.blocks)
    assert len({link.url for link in page.links}) == len(page.links)
    for link in page.links:
        assert link.url.startswith(("http://", "https://"))
        assert "#" not in link.url
        assert len(link.anchor) <= 100
        assert len(link.place) <= 80
        assert len(link.around) <= 100
        assert link.around == " ".join(link.around.split())


_AROUND = """<div>{}</div>|<p>{}|<li>{}|<ul>{}</ul>|<b>{}</b>|<section>{}</section>|<!-- {} -->
    |<table><tr><td>{}<td>x</table>|<dl><dt>{}<dd>{}</dl>"""
_TREE = st.recursive(
    st.sampled_from(["one", "two ", " &amp;", "<img alt=i>", "<br>"])
    | st.integers(0, 5).map("<a href=u{}>t</a>".format),
    lambda inner: st.tuples(
        st.sampled_from(_AROUND.split("|")), st.lists(inner, max_size=4).map("".join)
    ).map(lambda made: made[0].replace("{}", made[1])),
    max_leaves=20,
)


@given(_TREE)
def test_text_and_links_are_those_of_a_tree_by_the_html_standard(html):
    page = parse(html)
    tree = LexborHTMLParser(html)
    assert "".join("".join(page.blocks).split()) == "".join(tree.body.text().split())
    urls = [f"https://x.org/a/{node.attributes['href']}" for node in tree.css("a[href]")]
    assert [link.url for link in page.links] == list(dict.fromkeys(urls))


@given(_TREE)
def test_text_that_is_read_alone_is_the_same(html):
    body = f"<title>T</title><base href=/b><meta name=robots content=noindex>{html}".encode()
    page, alone = (
        parse_page(body, HTML, URL, text_alone=text_alone) for text_alone in (False, True)
    )
    assert (alone.title, alone.blocks) == (page.title, page.blocks)
    assert not alone.links
    assert not alone.noindex


@pytest.mark.parametrize(
    ("html", "blocks"),
    [
        (
            "<p>one <b>two <i hidden>not</i><em>three</em></b><a href=x>four</a>",
            ["one two threefour"],
        ),
        ("<span><p>one</span> two<span style=display:none>not<p>but</span>", ["one two", "but"]),
        ("<b>" * 500 + "deep" + "</b> down" * 500, ["deep" + " down" * 500]),
        ("<code> </code><table><i>out</i><tr><td>a<td><strong>b</strong></table>", ["out", "a b"]),
    ],
)
def test_text_in_elements_that_do_not_interrupt(html, blocks):
    for text_alone in (False, True):
        page = parse_page(html.encode(), HTML, URL, text_alone=text_alone)
        assert list(page.blocks) == blocks


@given(_TREE, st.sampled_from([" hidden", " style=display:none", ""]))
def test_the_text_around_links_is_seen_and_is_not_that_of_links(html, hiding):
    html = re.sub("(<a href=[^>]*>)t(</a>)", r"\1t link\2", html)
    page = parse(f"{html}<p{hiding}>secret <a href=/secret>t</a></p>{html}")
    for link in page.links:
        assert not hiding or "secret" not in link.around
        assert "link" not in link.around


# Each of these takes seconds to minutes where time grows with the square of the length.
@pytest.mark.parametrize(
    "piece",
    [
        *("<div>", "<b>", "<p><b a>", "<table>", "<a href=c>", "<x y='", "<x y=\"z' ", "<", "</"),
        *("<!--", "<!-- -", "</x>", "<div hidden>", "<template>", "<span hidden>", "<script>"),
        *("<title", "a ", "<a b ", " c = ", "&#9", "&am", "<td></div>", "<ul><li>", "<i></p>"),
    ],
)
def test_pages_made_to_hurt_take_linear_time_and_little_memory(piece):
    for start in ("", "<a ", "<a href='", "<div>"):
        page = parse(start + piece * (100_000 // len(piece)))
        assert sum(map(len, page.blocks)) <= 100_000


def test_a_long_base_counts_for_nothing():
    page = parse(f"<base href='/{'a/' * 18_000}'><link rel=canonical href=c><a href=d>t")
    assert [link.url for link in page.links] == ["https://x.org/a/d"]
    assert page.canonical == "https://x.org/a/c"


def test_links_whose_urls_are_long_with_their_base_are_none():
    page = parse(f"<base href='/{'a' * 3_000}/'><a href={'b' * 2_000}>t</a><a href=d>t</a>")
    assert [link.url for link in page.links] == [f"https://x.org/{'a' * 3_000}/d"]


def test_links_and_text_are_bounded():
    page = parse("".join(f"<a href={n}>{n}</a>" for n in range(300_000)))
    assert len(page.links) == MAX_LINKS
    assert page.links_dropped == 300_000 - MAX_LINKS
    assert page.links[-1] == Link("https://x.org/a/4999", "4999", "body/a", False)
    assert sum(map(len, page.blocks)) == MAX_TEXT

"""How well a topic that is told in several languages is found in each: on real, translated pages.

    python benchmarks/languages.py FOLDER

Packages of Debian's documentation in English, German and French (a download of 210 MB into FOLDER)
are four hosts. A page counts if it has a translation and is in the language that its place says. A
page is about a topic if the title of its English version matches an expression; so the
same pages are sought in all languages. The rule is strict: many pages that a filter finds
are about the topic, too, under another title. Half of the topics were tuned on.

A filter takes in all pages in a random order, once with all of them and once with a fifth of those
in German and French, and then scores them. Printed are, by language and half of the topics:
precision and recall of "relevance > 0", mean relevance of the pages about the topic, and
average precision; with the words of all languages, and with those of the one language alone.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from debian_documents import unpacked
from numpy.typing import NDArray

from pollwise.relevance.languages import language_of
from pollwise.relevance.parsed_text import ParsedText, parse_text
from pollwise.relevance.topic import topic
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.web.reading.page_parser import parse_page

LANGUAGES = ("en", "de", "fr")
TOPICS = {
    "auth": (
        r"auth|password|access",
        "authentication password",
        "Authentifizierung Passwort Kennwort",
        "authentification mot passe",
    ),
    "blur": (r"\bblur", "blur", "Weichzeichner weichzeichnen", "flou"),
    "boot": (
        r"\bboot|grub",
        "boot loader grub",
        "Bootloader Boot grub",
        "amorçage démarrage grub",
    ),
    "brush": (r"brush", "brush paintbrush", "Pinsel", "brosse pinceau"),
    "color": (r"colou?r", "color", "Farbe Farben", "couleur couleurs"),
    "gradient": (r"\bgradients?\b|\bblend", "gradient", "Farbverlauf Verlauf", "dégradé dégradés"),
    "install": (
        r"install",
        "installation installer",
        "Installation Installer",
        "installation installateur",
    ),
    "layers": (r"\blayers?\b", "layers", "Ebene Ebenen", "calque calques"),
    "light": (r"light|shadow", "light shadow", "Licht Schatten", "lumière ombre"),
    "network": (
        r"network|firewall|vpn|dns|dhcp|\bip",
        "network firewall",
        "Netzwerk Firewall",
        "réseau pare-feu",
    ),
    "packages": (
        r"packag|\bapt\b|repositor",
        "package repository apt",
        "Paket Pakete apt",
        "paquet paquets dépôt apt",
    ),
    "partition": (
        r"partition|raid|lvm|storage",
        "partition disk",
        "Partition Festplatte",
        "partition disque",
    ),
    "path": (r"\bpaths?\b", "path", "Pfad Pfade", "chemin chemins"),
    "proxy": (r"proxy", "proxy", "proxy", "mandataire proxy"),
    "rewrite": (r"rewrit|redirect", "url rewriting", "URL umschreiben", "réécriture url"),
    "selection": (r"\bselect(ion|ions)?\b", "selection", "Auswahl", "sélection"),
}
"""By name: the expression of titles, and the words in English, German and French."""
TUNED = sorted(TOPICS)[::2]
LEAST = 3
"""Pages about a topic in a language, without which it does not count there."""
SHARES = (1.0, 0.2)

Floats = NDArray[np.float64]
Judgements = NDArray[np.bool_]


class Translated(NamedTuple):
    """A page, by its `host` and what its translations have in common, its `key`."""

    host: str
    language: str
    key: str
    title: str
    terms: ParsedText


def files(folder: Path) -> Iterator[tuple[str, str, str, Path]]:
    """Host, language, key and file of each page."""
    names = ["apache2-doc", "debian-handbook", "installation-guide-amd64"]
    helps = [f"gimp-help-{language}" for language in LANGUAGES]
    apache, handbook, guide, *gimp = unpacked(folder, names + helps)
    documents = "usr/share/doc"
    for language, region, gimp_help in zip(
        LANGUAGES, ("en-US", "de-DE", "fr-FR"), gimp, strict=True
    ):
        for host, base in (
            ("apache", apache / documents / "apache2-doc/manual" / language),
            ("handbook", handbook / documents / "debian-handbook/html" / region),
            ("guide", guide / documents / "installation-guide-amd64" / language),
            ("gimp", gimp_help / "usr/share/gimp/2.0/help" / language),
        ):
            for file in sorted(base.rglob("*.html")):
                yield host, language, str(file.relative_to(base)), file


def read(folder: Path) -> list[Translated]:
    """The pages in the language of their place that have an English version."""
    pages = []
    for host, language, key, file in files(folder):
        page = parse_page(file.read_bytes(), "text/html; charset=utf-8", f"http://{host}/{key}")
        if language_of("\n".join(page.blocks)) == language:
            terms = parse_text([page.title, *page.blocks])
            pages.append(Translated(host, language, key, page.title, terms))
    english = {(page.host, page.key) for page in pages if page.language == "en"}
    return [page for page in pages if (page.host, page.key) in english]


def scored(words: str, pages: list[Translated]) -> Floats:
    """The relevance of each page, after all were seen in this order."""
    relevance = TopicFilter(topic(words))
    for page in pages:
        relevance.observe(page.host, page.terms)
    return np.array([relevance.score(page.host, page.terms) for page in pages])


def figures(scores: Floats, about: Judgements) -> list[float]:
    """Precision and recall above 0, mean relevance, average precision."""
    hit = scores > 0
    order = np.argsort(-scores, kind="stable")
    found = about[order] & hit[order]
    ranks = np.arange(1, len(found) + 1)
    average = float((np.cumsum(found) / ranks)[found].sum() / about.sum())
    precision = about[hit].mean() if hit.any() else np.nan
    return [precision, hit[about].mean(), scores[about].mean(), average]


def main() -> None:
    everything = read(Path(sys.argv[1]))
    titles = {(page.host, page.key): page.title for page in everything if page.language == "en"}
    print(f"{len(everything)} pages; precision, recall, mean relevance, average precision")
    for share in SHARES:
        rows: dict[tuple[str, str, str], list[list[float]]] = {}
        for name, (expression, *words) in TOPICS.items():
            generator = np.random.default_rng(0)
            chosen = [p for p in everything if p.language == "en" or generator.random() < share]
            pages = [chosen[place] for place in generator.permutation(len(chosen))]
            told = {"all": " ".join(words), **dict(zip(LANGUAGES, words, strict=True))}
            scores = {way: scored(words, pages) for way, words in told.items()}
            about = np.array(
                [bool(re.search(expression, titles[p.host, p.key], re.I)) for p in pages]
            )
            for language in (*LANGUAGES, "all"):
                inside = np.array([language in (page.language, "all") for page in pages])
                if about[inside].sum() < LEAST:
                    continue
                half = "tuning" if name in TUNED else "held out"
                for way in dict.fromkeys(("all", language)):
                    figure = figures(scores[way][inside], about[inside])
                    rows.setdefault((half, way, language), []).append(figure)
        print(f"with {share:.0%} of the pages in German and French")
        for half, way, language in sorted(rows):
            mean = np.nanmean(rows[half, way, language], axis=0)
            print(
                f"{half:9} words: {way:4} pages: {language:4}"
                + "".join(f"{value:6.2f}" for value in mean)
            )


if __name__ == "__main__":
    main()

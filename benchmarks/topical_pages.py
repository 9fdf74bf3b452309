"""Which pages of a documentation are about a topic, by a rule that is not the filter of pollwise.

A word of the topic is in the title or first heading; or three different ones (both, of two) are in
the text, six times at least in all. Words may end in -s, -ed or -ing, and be part of names such as
`ReentrantLock` and `_thread`.
"""

import hashlib
import html
import re
from collections.abc import Sequence
from pathlib import Path

TOPICS = {
    "threads": "concurrent thread mutex lock",
    "audio": "audio sound",
    "windows": "window widget dialog",
    "secrets": "encryption password certificate authentication",
}
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where the words of a name such as ReentrantLock meet."""
_HEADS = [re.compile(rf"<({tag})\b.*?</\1>", re.DOTALL) for tag in ("title", "h[1-6]")]


def topics_of(page: str) -> list[str]:
    """The topics of a page of HTML, by the rule of this module."""
    small = _JOINT.sub(" ", page).lower()
    named = {name: words.split() for name, words in TOPICS.items()}
    named = {name: words for name, words in named.items() if any(one in small for one in words)}
    heads = [_text(found[0]) for head in _HEADS if named and (found := head.search(small))]
    text = _text(small) if named else ""
    topics = []
    for name, words in named.items():
        word = re.compile(rf"(?<![a-z])({'|'.join(words)})(?:s|ed|ing)?(?![a-z])")
        said = word.findall(text)
        is_said = len(said) >= 6 and len(set(said)) >= min(3, len(words))
        if is_said or any(word.search(head) for head in heads):
            topics.append(name)
    return topics


def _text(page: str) -> str:
    return html.unescape(_TAGS.sub(" ", page))


def topical_pages(folders: Sequence[Path]) -> dict[str, dict[Path, str]]:
    """For each topic its pages, and for each of these what it has in common with its copies."""
    found: dict[str, dict[Path, str]] = {name: {} for name in TOPICS}
    for file in sorted(file for folder in folders for file in folder.rglob("*.htm*")):
        if file.is_file() and not file.is_symlink():
            data = file.read_bytes()
            for name in topics_of(data.decode(errors="replace")):
                found[name][file] = hashlib.sha256(data).hexdigest()
    return found

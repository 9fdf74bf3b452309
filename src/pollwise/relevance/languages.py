"""Which language a text is in, guessed by its most frequent words.

Function words make up about half of running text and hardly occur in other languages, so a few
dozen for each language tell even snippets apart (G. Grefenstette, Comparing two language
identification schemes, JADT 1995: small words are as good as letter trigrams from about ten words
on).
"""

from collections import Counter

__all__ = ["LANGUAGE_NAMES", "language_of"]

LANGUAGE_NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
}
"""Those that are known, by their letters (ISO 639-1)."""

_FREQUENT = {
    "en": "the of and to in is that for it was on with as are be this by from at have not or an"
    " which they their its can has how what",
    "de": "der die das und ist nicht von mit den zu dem ein eine für auf im sich auch werden als"
    " wird sind aus bei nach wie oder einer einem zum",
    "fr": "le la les et des est dans une pour que qui sur pas du au par avec sont ce cette plus ou"
    " il elle nous vous leur ont être aux de en",
    "es": "el los las y es una para que por con del se no su al lo como más o pero sus este esta"
    " son entre cuando muy sin sobre también de la en",
    "it": "il di che è per gli una con non del della le si nel sono alla dei come più anche da al"
    " ha questo delle essere tra nella lo ma",
    "pt": "o os as e é um uma para que não com do da em dos das por mais como ao ou seu sua são foi"
    " pelo pela também nos entre de",
    "nl": "de het een en van is dat niet in op te zijn met voor die aan er ook als bij door naar om"
    " maar wordt deze uit worden over of",
}
_LANGUAGES: dict[str, list[str]] = {}
for _language, _words in _FREQUENT.items():
    for _word in _words.split():
        _LANGUAGES.setdefault(_word, []).append(_language)
_CLEARLY = 1.5
"""How many times as many frequent words as the second a language must have."""


def language_of(text: str) -> str | None:
    """The language of a text (ISO 639-1), of the seven that are known; None: it is not clear.

    Of frequent words that several languages share, each gets its part.

    >>> language_of("the song of the whales"), language_of("der Gesang der Wale"), language_of("1")
    ('en', 'de', None)
    """
    found = dict.fromkeys(_FREQUENT, 0.0)
    for word, count in Counter(filter(_LANGUAGES.__contains__, text.lower().split())).items():
        for language in _LANGUAGES[word]:
            found[language] += count / len(_LANGUAGES[word])
    best, second = sorted(found, key=found.__getitem__, reverse=True)[:2]
    return best if found[best] > _CLEARLY * found[second] else None

"""The languages of texts."""

import pytest

from pollwise.relevance.languages import language_of

TEXTS = {
    "en": "Password management in Django: the passwords of users are not stored as they are.",
    "de": "Die Verwaltung der Kennwörter: Sie werden nicht im Klartext gespeichert.",
    "fr": "Les mots de passe des utilisateurs ne sont pas conservés en clair dans la base.",
    "es": "Las contraseñas de los usuarios no se guardan en texto claro en la base.",
    "it": "Le password degli utenti non sono conservate in chiaro nella base di dati.",
    "pt": "As senhas dos usuários não são guardadas em texto claro na base de dados.",
    "nl": "De wachtwoorden van gebruikers worden niet in leesbare vorm in de database bewaard.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_tells_its_language(language):
    assert language_of(TEXTS[language]) == language


@pytest.mark.parametrize("text", ["", "whale song", "鯨の歌", "Whale Nr. 7", "in"])
def test_what_is_not_clear_is_none(text):
    assert language_of(text) is None

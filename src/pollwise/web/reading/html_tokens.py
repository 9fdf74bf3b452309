"""What of an HTML document is a tag, and what only looks like one; in linear time on any input."""

import re

__all__ = ["ATTRIBUTE", "ATTRIBUTES", "FORMATTING", "MORE_ATTRIBUTES", "TOKEN", "is_self_closing"]

FORMATTING = frozenset(b"a b big code em font i nobr s small strike strong tt u".split())
"""Elements that the standard opens anew behind the end of those around them (13.2.4.3)."""

_QUOTED = rb"""(?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) )"""
_ATTRIBUTE = rb"""[^\s/>][^\s/>=]*+ (?: \s*+ = \s*+ (?: %b | [^\s>"'][^\s>]*+ )? )?""" % _QUOTED
ATTRIBUTES = rb"(?: [\s/]++ | %b | )*+" % _ATTRIBUTE
"""The attributes of a tag, in a verbose expression."""

ATTRIBUTE = re.compile(_ATTRIBUTE, re.VERBOSE)
"""An attribute, where all of a text are attributes."""

MORE_ATTRIBUTES = re.compile(rb"%b (%b)" % (_QUOTED, ATTRIBUTES), re.VERBOSE)
"""A quoted value, and the attributes behind it in the same tag (group)."""

# Every alternative also ends at the end of the text, so that no scan fails and starts again one
# character later: this keeps the time linear.
TOKEN = re.compile(
    rb"""
    < (?: !-- (?: -?> | (?: [^-]++ | -(?!-!?>) | )*+ (?:--!?>|\Z) )
        | (iframe|noembed|noframes|script|style|textarea|title|xmp) (?=[\s/>])
          %(attributes)b (?:>|\Z)
          ((?: [^<]++ | <(?!/\1[\s/>]) | )*+) (?: </\1 %(attributes)b (?:>|\Z) | \Z )
        | (/?+) ([a-z][^\s/>]*+) (%(attributes)b) (?:>|\Z)
        | (?: (!\[) | [!?/] ) [^>]*+ (?:>|\Z) )
    """
    % {b"attributes": ATTRIBUTES},
    re.VERBOSE | re.IGNORECASE,
)
"""An element whose content holds no tags (groups: name, content), a tag (groups: `/` of an end tag,
name, attributes), or a comment or declaration (group: what begins CDATA)."""

_BEHIND_VALUES = re.compile(
    rb"""(?: [\s/]*+ [^\s/>][^\s/>=]*+
      (?: \s*+ = \s*+ (?: "[^"]*+" | '[^']*+' | [^\s>"'][^\s>]*+ )? )? | )*+ ([\s/]*+)""",
    re.VERBOSE,
)


def is_self_closing(attributes: bytes) -> bool:
    """Whether a tag with these attributes ends in `/>`, and that is not part of a value.

    >>> is_self_closing(b" r='1'/"), is_self_closing(b" r=1/")
    (True, False)
    """
    if not attributes.endswith(b"/"):
        return False
    last = _BEHIND_VALUES.match(attributes)
    return last is not None and last[1].endswith(b"/")

"""Feasts, wars, games and a few spellings of countries, as patterns of their words."""

from __future__ import annotations

__all__ = ["NAMED"]

CAPITAL = r"(?-i:[A-Z][\w'’–-]+)"
HAPPENING = (
    r"(?-i:Wars?|Revolution|Rebellion|Crisis|Uprising|Massacre|Blockade|Reformation|Earthquake|"
    r"Festival|Championships?|Olympics|Olympiad|Games|Grand Prix|[Cc]onflict|Crash|Contest|"
    r"World['’]s Fair)"
)
FEASTS = (
    r"christmas(?: eve)?|thanksgiving|halloween|easter(?! (?:island|bunny|egg))|holi(?=\W)|diwali|"
    r"ramadan|hanukkah|passover|kwanzaa|eid al-(?:fitr|adha)|cinco de mayo|mardi gras|"
    r"(?:the )?(?:chinese |lunar )?new year(?:['’]?s)?(?: day| eve)?|bastille day|earth day|"
    r"groundhog day|(?:saint|st\.?) patrick['’]?s day|valentine['’]?s day|"
    r"(?:mother|father)['’]?s day|"
    r"(?:independence|labor|memorial|veterans?['’]?s?|columbus|boxing|may) day"
)
GAMES = (
    r"(?:the )?(?:(?:summer|winter) )?(?:(?:olympics|paralympics)(?: games)?|"
    r"(?:olympic|paralympic) games)"
)
NAMED: tuple[tuple[str, str], ...] = (
    ("EVENT", r"(?:the )?(?:battle|siege) of (?:the )?(?:little )?\w+(?: bulge| antietam)?"),
    ("EVENT", r"(?:the )?(?:attack on|bombing of) pearl harbor"),
    (
        "EVENT",
        rf"(?:the )?(?:(?:world war (?:ii|i|two|one|2|1)|ww(?:ii|i|2|1))|"
        rf"(?:{CAPITAL} )?(?:civil|revolutionary|cold|vietnam|korean|gulf|trojan|"
        r"crimean) war|"
        r"super bowl(?: [xvil]+\b| \d+)|world cup|9/11|september 11 attacks|great depression|"
        r"holocaust)",
    ),
    ("EVENT", GAMES),
    ("EVENT", rf"(?:the )?(?:{CAPITAL} ){{1,4}}{HAPPENING}"),
    ("EVENT", r"(?-i:Operation|Hurricane|Tropical Storm) " + CAPITAL),
    ("EVENT", FEASTS),
    (
        "EVENT",
        r"(?:the )?(?:(?-i:US|U\.S\.|French|Australian|British) Open|"
        r"(?-i:Prague|Arab) Spring|"
        r"(?-i:Age) of (?-i:Discovery|Enlightenment))",
    ),
    (
        "GPE",
        r"(?:the )?(?:u\.s\.a\.?|u\.s\.?|u\.k\.?)(?!\w)|"
        r"(?:the )?united (?:states(?: of america)?|kingdom|arab emirates)|"
        r"(?:the )?(?-i:USA|US|UK|USSR|UAE|NYC)(?! (?-i:Open))",
    ),
    ("GPE", r"(?:the )?(?-i:Kingdom|(?:People['’]s |Democratic )?Republic) of (?:the )?" + CAPITAL),
)
"""A label and a pattern each, read without regard to case but where it says otherwise."""

"""Rules on the text of one reply: empty, template, data in place of words, tokens, cut off.

Every pattern runs in linear time: repetitions are bounded and not nested.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from grice.detectors.conversation import READ, Flaw
from grice.text.language import ENGLISH
from grice.text.lexicon import begins_word, look_up
from grice.text.markup import plain_text, thoughts
from grice.text.wordlists import pattern_of, words_of

if TYPE_CHECKING:
    from grice.detectors.conversation import Reply

CODE_TALK = re.compile(
    r"```|\b(?:source code|coding|programm(?:ing|ers?)|python|java(?:script)?|typescript|html|css|"
    r"json|xml|ya?ml|sql|regex|latex|jinja|handlebars|sudo|bash|linux|ubuntu|debian|"
    r"compilers?|debug\w*|snippets?|endpoints?|payloads?|webhooks?|APIs?|c\+\+|"
    r"trace ?back|stack ?trace|\w{1,60}(?:Error|Exception)|placeholders?|"
    r"template(?:s| engine| variable))\b"
    # Signs of code itself
    r"|\bdef \w{1,60}\(|\breturn [^\n;]{0,60};|^import \w{1,60}$|[{;]\s{0,5}\n|\{\s{0,40}\"\w",
    re.IGNORECASE | re.MULTILINE,
)
"""A conversation about code, in which code, data and error messages are no flaw."""


# Empty

INVISIBLE = re.compile(r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f"
                       r"\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0"
                       r"\x00-\x1f\x7f-\x9f]+")  # fmt: skip
MARKUP = re.compile(
    r"</?(?:a|abbr|b|blockquote|body|br|center|code|div|em|font|h[1-6]|head|hr|html|i|img|li|ol|p|"
    r"pre|s|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)\b[^<>]{0,300}>",
    re.IGNORECASE,
)
ENTITY = re.compile(r"&(?:nbsp|zwnj|zwj|shy|#160|#8203|#xa0|#x200b);", re.IGNORECASE)


def empty_in(reply: Reply) -> Flaw | None:
    """Find a reply without a visible character."""
    text = reply.whole
    if not text.strip():
        return Flaw("the reply is empty")
    if len(text) > READ:
        return None
    if not INVISIBLE.sub("", text):
        return Flaw("the reply contains only invisible characters")
    if "<" not in text and "&" not in text:
        return None
    if not INVISIBLE.sub("", ENTITY.sub("", MARKUP.sub("", text))):
        return Flaw("the reply contains only markup")
    if thoughts(text) and not INVISIBLE.sub("", plain_text(text).text):
        return Flaw("the reply contains only a model's reasoning")
    return None


# Template left in

FILLED = re.compile(
    r"\{\{[^{}\n]{1,60}\}\}|\{%[^%{}\n]{1,100}%\}|(?<![\w$\\])[#$]\{[A-Za-z_][\w.]{0,40}\}"
    r"|(?<![\w$\\{}])\{[a-z]{1,20}(?:_[a-z0-9]{1,20}){1,4}\}(?![\w}])"
    r"|(?<![\w%])%\(\w{1,40}\)s|(?<![\w%])%s(?!\w)|\[object Object\]"
    r"|(?<!is )\b(?:undefined|null|NaN)\b[^.?!\n]{1,20}\b(?:undefined|null|NaN)\b"
    r"|\b(?:[Hh]ello|[Hh]i|[Dd]ear|[Oo]n|[Oo]rder|between|from|for|until) #?undefined\b"
)
"""A field of a template language, whatever its name, or a value that is missing in it."""
FIELD_SIGNS = ("{", "[", "<", "%", "undefined", "null", "NaN")
FIELD = re.compile(
    r"(?<![\w\\${}\])])\{([A-Za-z][\w .'’/-]{0,40})\}(?![\w}])"
    r"|(?<![\w\])!])\[([A-Za-z][\w .,:#'’/-]{0,60})\](?![\[(:\w])"
    r"|(?<![\w<])<([A-Za-z][\w .'’-]{0,40})>(?![\w>])"
)
"""A possible field in brackets; its name decides."""
NAME_WORDS = re.compile(r"[A-Z]{2,}(?![a-z])(?:'S|’S)?|[A-Za-z][a-z]*(?:'s|’s)?|\d+")
SLOTS = words_of(
    "account address age amount appointment balance birthday brand category city client company "
    "contact country customer date day deadline department destination discount duration email "
    "employer event firstname fullname hobby hobbies hometown hotel hours id industry invoice job "
    "lastname link location mail merchant mobile month movie name names nickname number "
    "occupation order organisation organization password person phone place position price product "
    "profession quantity recipient restaurant school sender service state street surname telephone "
    "time title topic total town tracking url user username venue website weekday year zip"
)
BARE = words_of(
    "age amount city client company country customer date destination event hobby hometown job "
    "link location name occupation organization place price product restaurant surname time title "
    "topic town user username venue"
)
MASKS = tuple(
    map(
        words_of, ("email address", "phone number", "ip address", "credit card number", "date time")
    )
)
"""Words in capitals that redaction tools put into a log."""
ASKING = words_of("insert enter your user customer client company add placeholder fill assistant "
                  "bot agent")  # fmt: skip
EDITED = words_of("the this that these those his her its their our my a an of and or in on at to "
                  "from for with by is was are were not no some any all other")  # fmt: skip
"""Words of a note that an author puts into a quotation: "he left [the city]"."""
REDACTED = re.compile(
    r"[\[<{](?:[A-Z][A-Z_ ]{2,30}|name|email|phone|address|location|date|person|number|url|link|"
    r"city|company|time)(?:[_ -]?\d{1,3})?[\]>}]"
)
"""A redaction marker of a log, if turns of other speakers have such markers, too."""
DRAFT = re.compile(
    r"\A\W{0,10}(?:subject:|title:|headline:|to:|re:)[^\n]{0,100}[\[<]"
    r"|\b(?:regards|sincerely|best|thanks|thank you|yours|cheers),?\s{1,20}[\[<]"
    r"|\A\s{0,10}\[[^\]\n]{0,60}\]\s{0,5}\n\s{0,5}\[",
    re.IGNORECASE,
)
"""A letter with blanks, for the user to fill in."""
DRAFT_LENGTH = 600  # from so many characters on a text with names in brackets is a draft
COMMANDS = re.compile(r"(?:\A|[\s\"'(])(?:sudo|chmod|chown|mkdir|kill|apt(?:-get)?|ssh|git|pip|npm|"
                      r"/[a-z]{2,12}) \S")  # fmt: skip
"""A command, in which a name in brackets says what to type there."""


def template_in(reply: Reply) -> Flaw | None:
    """Find fields of a template that were not filled in."""
    if not any(sign in reply.text for sign in FIELD_SIGNS):
        return None
    prose = reply.prose
    places = [match.span() for match in FILLED.finditer(prose)]
    named = [match for match in FIELD.finditer(prose) if _names_a_field(match)]
    bracketed = any(match[2] or match[3] for match in named)
    if bracketed and (len(prose) > DRAFT_LENGTH or DRAFT.search(prose)):
        named = [match for match in named if match[1]]
    named = [match for match in named if not reply.quotes(match[0])]
    if named and all(REDACTED.fullmatch(match[0]) for match in named):
        others = reply.background.first(REDACTED, REDACTED.search).keys() - {reply.speaker}
        named = [] if others else named
    places += [match.span() for match in named]
    if not places or reply.asked_for(CODE_TALK) or reply.asked_for(pattern_of("asks for a text")):
        return None
    if named and COMMANDS.search(reply.text):
        return None
    return Flaw("a template field is not filled in", tuple(sorted(places)))


def _names_a_field(match: re.Match[str]) -> bool:
    curly, square, angle = match.groups()
    name = curly or square or angle
    words = [word.lower().replace("’", "'") for word in NAME_WORDS.findall(name)]
    words = [word for word in words if not word.isdigit()]
    if not words or len(words) > 8 or words[0] in EDITED:
        return False
    first, last = words[0].removesuffix("'s"), words[-1]
    if name.isupper() and frozenset(words) in MASKS:
        return False
    if angle and not angle.isupper():
        return "name" in words and len(words) <= 3
    if first in ASKING and len(words) > 1:
        return first in ("insert", "placeholder", "your") or last in SLOTS or "name" in words
    if len(words) == 1:
        return first in BARE or first in ("placeholder", "firstname", "lastname", "fullname")
    return last in SLOTS and len(words) <= 4 and not any(word in EDITED for word in words)


# JSON, HTML, stack traces

JSON_WHOLE = re.compile(
    r"\s*(?:```(?:json)?\s*)?"
    r"(\"?\{\s{0,100}(?:\\?\"[^\"\n]{0,60}\"|'[^'\n]{0,60}')\s?:|\"?\[\s{0,100}\{\s{0,100}\\?[\"']|"
    r"(?:\{\}|\[\]|null|undefined|NaN)\s*\Z)",
    re.IGNORECASE,
)
JSON_WITHIN = re.compile(
    r"(?<![\w(\[=])\{\s{0,100}\"[A-Za-z_][\w .-]{0,40}\"\s{0,10}:\s{0,100}"
    r"(?:[\"\[{\d-]|true|false|null)"
)
HTML_WHOLE = re.compile(
    r"\s*(?:```(?:html)?\s*)?(<(?:!doctype html|html|head|body|script|style|\?xml)\b)",
    re.IGNORECASE,
)
HTML_WITHIN = re.compile(
    r"<!doctype html|</?(?:html|head|body|script)\b[^<>]{0,300}>"
    r"|&lt;/?(?:p|br|b|i|a|div|span|li|ul|ol|strong|em|table|html)\b[^&<>]{0,100}&gt;",
    re.IGNORECASE,
)
LAYOUT = re.compile(
    r"<[a-z][a-z0-9]{0,15}\s(?:[^<>]{0,200}\s)?(?:class|style|id|on[a-z]{3,12}|data-[\w-]{1,30})="
    r"[\"'][^<>]{0,300}>|<(?:button|form|iframe|input|link|meta|svg)\s[\w-]{1,30}=[^<>]{0,300}>",
    re.IGNORECASE,
)
"""Looks and behaviour of a page; a chat may show links, pictures and bold words as such."""
PAGE_TALK = re.compile(
    r"\b(?:web ?sites?|pages?|wordpress|shopify|signature|newsletters?|widgets?)\b|<[a-z]", re.I
)
"""A conversation about a page, or one in which the others write tags, too."""
TRACE = re.compile(
    r"Traceback \(most recent call last\)"
    r"|^[ \t]{0,20}at [\w.$<>]{3,100}\([\w$]{1,60}\.(?:java|kt|scala|js|ts|cs):\d+(?::\d+)?\)"
    r"|^[ \t]{0,20}at \S{1,100} \(\S{1,200}:\d+:\d+\)"
    r"|^[ \t]{0,20}File \"[^\"\n]{1,200}\", line \d+"
    r"|Exception in thread \"|^goroutine \d+ \[|panic: runtime error"
    r"|\bUncaught \w{0,60}(?:Error|Exception)\b|\bUnhandled (?:exception|promise rejection)\b"
    r"|Segmentation fault \(core|PHP (?:Fatal|Parse) error|\bORA-\d{5}\b|\bSQLSTATE\[",
    re.MULTILINE,
)
TRACE_SIGNS = ("Traceback", "(", 'File "', "Exc", "exc", "goroutine", "panic", "Uncaught",
               "Unhandled", "PHP ", "ORA-", "SQLSTATE[")  # fmt: skip
"""Every stack trace contains one of these; a text without them is skipped."""
PROGRAM_ERROR = re.compile(
    r"\s*(?:(?:[\w]{1,40}\.){0,6}[A-Z][A-Za-z]{1,60}(?:Error|Exception)\s?:"
    r"|Error code: [45]\d\d\b|(?:HTTP(?:/\d(?:\.\d)?)? ?|Error ?:? ?)?[45]\d\d:? "
    r"(?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out|Forbidden|"
    r"Unauthorized|Bad Request|Too Many Requests)\b|Internal Server Error\b|upstream connect error)"
)
TAG_TALK = re.compile(r"\b(?:HTML|tags?|mark-?up|entit(?:y|ies)|elements?)\b(?![>&])")


def _whole(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Match a pattern at the beginning, unless words follow on a block of code."""
    explained = text.strip().partition("```")[2].partition("```")[2].strip()
    return None if explained else pattern.match(text)


def json_in(reply: Reply) -> Flaw | None:
    """Find JSON instead of text, or within it."""
    if whole := _whole(JSON_WHOLE, reply.text):
        place = (whole.start(1), len(reply.text.rstrip()))
        flaw = Flaw("the reply is JSON", (place,))
    elif "{" in reply.text and (within := JSON_WITHIN.search(reply.prose)):
        flaw = Flaw("the reply contains JSON", (within.span(),))
    else:
        return None
    asked = reply.asked_for(CODE_TALK) or CODE_TALK.search(reply.background.instructions)
    return None if asked else flaw


def html_in(reply: Reply) -> Flaw | None:
    """Find an HTML page instead of text, or tags within it."""
    if "<" not in reply.text and "&lt;" not in reply.text:
        return None
    if whole := _whole(HTML_WHOLE, reply.text):
        flaw = Flaw("the reply is an HTML page", (whole.span(1),))
    elif TAG_TALK.search(reply.prose):
        return None
    elif places := _places(HTML_WITHIN, reply.prose) or _laid_out(reply):
        flaw = Flaw("the reply contains HTML tags", places)
    else:
        return None
    return None if reply.asked_for(CODE_TALK) else flaw


def _laid_out(reply: Reply) -> tuple[tuple[int, int], ...]:
    return () if reply.asked_for(PAGE_TALK) else _places(LAYOUT, reply.prose)


def trace_in(reply: Reply) -> Flaw | None:
    """Find the stack trace or the error message of a program."""
    text = reply.text
    if any(sign in text for sign in TRACE_SIGNS) and (trace := TRACE.search(text)):
        flaw = Flaw("the reply contains a stack trace", (trace.span(),))
    elif error := PROGRAM_ERROR.match(reply.text):
        start = error.end() - len(error[0].lstrip())
        flaw = Flaw("the reply is a program's error message", ((start, error.end()),))
    else:
        return None
    return None if reply.asked_for(CODE_TALK) else flaw


# Tokens of a model

THINKING = re.compile(r"</?(?:think|thinking|reasoning)>", re.IGNORECASE)
TOKENS = re.compile(
    r"<\|[a-z_0-9]{1,40}\|>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|</s>\s{0,100}\Z|\A<s>(?!.{0,2000}</s>)"
    r"|<(?:unk|pad|eos|bos|sep|cls|mask|endoftext)>|(?-i:\[(?:UNK|PAD|SEP|CLS|EOS|BOS|MASK)\])"
    r"|__(?:eou|eot|unk|start|end|null|silence)__|_+POTENTIALLY_UNSAFE_+"
    r"|</?(?:tool_call|function_call|tool_response)>|<function=\w{1,60}|\[/?TOOL_CALLS\]"
    r"|\A\s{0,100}<START>|<STOP>\s{0,100}\Z"
    r"|^#{2,3} ?(?:Human|User|Assistant|Response|Instruction|System|Input)\s?:",
    re.IGNORECASE | re.MULTILINE,
)
NEXT_SPEAKER = re.compile(
    r"(?:\n[ \t]{0,20}|[.!?][\"')]? {1,3})(\*{0,2}(?:User|Human|Customer|Client)\*{0,2}:)(?=\s|\*)"
)
TOKEN_TALK = re.compile(
    r"\b(?:tokens?|tokeni[sz]\w+|chat ?ml|llama|mistral|fine-?tun\w+|prompts?|chat template)\b",
    re.IGNORECASE,
)
SCENES = re.compile(
    r"\b(?:dialog(?:ue)?s?|scripts?|transcripts?|role-?play\w*|interviews?|scenes?|skits?|plays?|"
    r"examples?|samples?|conversations?|simulat\w+|pretend|imagine|story|write|chat ?bots?|"
    r"prompts?|jokes?|continue|complete)\b",
    re.IGNORECASE,
)


def tokens_in(reply: Reply) -> Flaw | None:
    """Find chat template tokens or a model's reasoning in a reply."""
    text = reply.text
    if "<" in text and (places := _places(THINKING, reply.prose)):
        flaw = Flaw("the reply contains a model's reasoning", places)
    elif any(sign in text for sign in "<[_#") and (places := _places(TOKENS, reply.prose)):
        flaw = Flaw("the reply contains chat template tokens", places)
    elif ":" in text and (speaker := NEXT_SPEAKER.search(reply.prose)) and speaker.start():
        if reply.asked_for(SCENES) or SCENES.search(text[: speaker.start()]):
            return None
        flaw = Flaw("the reply continues with the next speaker's turn", (speaker.span(1),))
    else:
        return None
    if reply.asked_for(TOKEN_TALK) or reply.asked_for(CODE_TALK):
        return None
    # A reply of only a token to a turn with a token is a joke.
    mocked = not TOKENS.sub("", text).strip() and reply.asked_for(TOKENS)
    return None if mocked else flaw


def _places(pattern: re.Pattern[str], text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in pattern.finditer(text))


# Cut off

TAIL = 400  # characters of the end of a reply that are read
FEWEST_WORDS = 3
WORDS_BEFORE_TORN = 10  # in short replies an incomplete last word is more often a typo
LAST_WORD = re.compile(r"(?<![^\s(\"“])([^\W\d_]+(?:['’][^\W\d_]+)?)(-?)\Z")
BEFORE_A = words_of(
    "is was are were be been have has had need want get got gets like as at by for from in into of "
    "on or than that to with and not such make makes made take find give us me you it"
)
PREPOSITIONS = words_of(
    "about after at by for from in into of on over through to under with and or"
)
NEVER_LAST = words_of("the an and because although whereas than if whether your my their every")
"""Words that hardly ever end a sentence."""
BEFORE_LAST = {
    "if": words_of("as what even only and"),
    "because": words_of("just only"),
    "my": words_of("oh bad edit"),
}
"""Words behind which a sentence does end so: "what if", "just because"."""
COMPARATIVE = re.compile(r"more|less|rather|other|worse|\W?\w{1,20}er")
CLIPPED = words_of(
    "info config repo repos admin app apps stats stat ref refs prob min max pref recs vocab demo "
    "spec specs temp exam photo lab math auto condo intro combo typo stan with legit prof dept "
    "approx comp congrat fave prep vege veg"
)
"""Abbreviations, which are not cut-off words."""
FUNCTION_WORDS = words_of(
    "er erm um uh "
    "any anyone anything around been both does each else ever every everyone everything from hers "
    "here into many mine more most much nobody none nothing once only other others ours over same "
    "some someone something soon such than that theirs them then there these they this those three "
    "upon very what when where which while whom whose will with yeah your yours four five nine"
)
LIST_START = re.compile(r"^[ \t]{0,8}(?:\d{1,2}[.)]|[-*•])[ \t]", re.MULTILINE)
LIST_END = re.compile(
    r"\n[ \t]{0,8}(\d{1,2}[.)]|\d{1,2}[.)] \*\*[^*\n]{0,80}|[-*•] \*\*[^*\n]{0,80})\Z"
)
FENCE = re.compile(r"^[ \t]{0,3}```(?P<language>\w*)[^`\n]*$", re.MULTILINE)


def cut_off_in(reply: Reply) -> Flaw | None:
    """Find a reply that ends in the middle of a word, a sentence, a list or code."""
    whole = reply.whole.rstrip()
    start = max(0, len(whole) - TAIL)
    tail = whole[start:]
    if (last := LAST_WORD.search(tail)) and (unit := _ends_early(reply, tail, last)):
        begin = start + last.start(1)
    elif (item := LIST_END.search(tail)) and LIST_START.search(reply.text[: start + item.start()]):
        unit, begin = "a list", start + item.start(1)
    elif "```" in whole and len(whole) <= READ and (fence := _open_fence(whole)) is not None:
        unit, begin = "code", fence
    else:
        return None
    return Flaw(f"the reply ends in the middle of {unit}", ((begin, len(whole)),))


def _open_fence(text: str) -> int | None:
    """Return the start of a block of code that is not closed."""
    fences = list(FENCE.finditer(text))
    if not len(fences) % 2:
        return None
    last = fences[-1]
    # Models also close what they did not open: the language, or a colon, tells the two apart.
    opened = last["language"] or (
        text[: last.start()].rstrip().endswith(":") and text[last.end() :]
    )
    return last.start() if opened else None


def _ends_early(reply: Reply, tail: str, last: re.Match[str]) -> str | None:
    """Return whether a reply ends in the middle of a word or of a sentence, or None."""
    word, hyphen = last[1].replace("’", "'"), last[2]
    words = tail.split()
    if _goes_on(reply):
        return None
    if hyphen:
        torn = len(words) > 1 and word.islower() and len(word) > 1 and _is_torn(word)
        return "a word" if torn else None
    if len(words) < FEWEST_WORDS:
        return None
    before = words[-2].lower()
    # Typos of "then", "there" and "you" end a sentence.
    if (
        (word == "than" and not COMPARATIVE.fullmatch(before))
        or (word == "their" and before not in PREPOSITIONS)
        or (word == "your" and before == "for" and "thank" not in tail.lower())
    ):
        return None
    if word in NEVER_LAST or (word == "a" and before in BEFORE_A):
        sound = before in (word, "not") or before in BEFORE_LAST.get(word, ())
        return None if sound else "a sentence"
    if (
        len(words) >= WORDS_BEFORE_TORN
        and word.islower()
        and len(word) > 3
        and _is_torn(word)
        and _completed(reply, word)
    ):
        return "a word"
    return None


def _is_torn(word: str) -> bool:
    known = look_up(word).readings or word in CLIPPED | FUNCTION_WORDS | ENGLISH
    return not known and begins_word(word)


def _completed(reply: Reply, word: str) -> bool:
    """Return whether the turns so far have a longer word, and not the word itself."""
    turns = reply.talk.turns[max(0, reply.turn - 6) : reply.turn + 1]
    said = Counter(w for turn in turns for w in re.findall(r"[a-z]+", turn.text[-READ:].lower()))
    longer = (w for w in said if w.startswith(word) and w not in (word, word + "g", word + "s"))
    return said[word] == 1 and any(look_up(w).readings for w in longer)


def _goes_on(reply: Reply) -> bool:
    """Return whether the same speaker has the next turn, too."""
    turns = reply.talk.turns
    return reply.turn + 1 < len(turns) and turns[reply.turn + 1].speaker == reply.speaker


# Encoding, instructions, loops

BROKEN = re.compile("\ufffd|[ÃÂ][\u0080-\u00bf]|â€[\u0080-\u00bf\u2000-\u2122œž]|â‚¬|â„¢|ï¿½")
"""UTF-8 that was read as another encoding, and the mark of a byte that could not be read."""
INSTRUCTS = re.compile(
    r"\b(?:you are|never|always|do not|don['’]t|must|instructions?|the (?:user|customer|child)|"
    r"reveal|respond|reply|answers?)\b",
    re.IGNORECASE,
)
POLICY = re.compile(r"(?:all |our |the )?\w{1,30}s (?:must|may|can|are|have to|need)\b")
"""A sentence about customers or things, which a reply may repeat: "Passwords must have …"."""
FEWEST_INSTRUCTED = 8  # words of a sentence of the system prompt that a reply may not quote
TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
MOST_TOKENS, PERIODS = 4_000, 16
TIMES, LOOP_WORDS, ONE_WORD = 4, 12, 10
"""Repetitions of a loop, its words in all, and the repetitions of a single word."""


def broken_in(reply: Reply) -> Flaw | None:
    """Find text in a broken encoding."""
    if reply.text.isascii() or not (places := _places(BROKEN, reply.text)):
        return None
    shown = tuple(place for place in places if not reply.quotes(reply.text[slice(*place)]))
    return Flaw("the reply is in a broken encoding", shown) if shown else None


def instructions_in(reply: Reply) -> Flaw | None:
    """Find a sentence of the system prompt that tells the assistant how to behave."""
    lowered = reply.text.lower()
    for sentence in _instructing(reply.background.instructions):
        if (start := lowered.find(sentence)) >= 0:
            return Flaw("the reply quotes its instructions", ((start, start + len(sentence)),))
    return None


@lru_cache(16)
def _instructing(prompt: str) -> tuple[str, ...]:
    """Return the sentences of a system prompt that tell how to behave, without marks of lists."""
    sentences = re.split(r"(?<=[.!?])\s+|\n+", prompt.lower())
    trimmed = (sentence.strip(" \t\r.!?:;-*•#>") for sentence in sentences)
    return tuple(
        sentence
        for sentence in trimmed
        if len(sentence.split()) >= FEWEST_INSTRUCTED
        and INSTRUCTS.search(sentence)
        and not POLICY.match(sentence)
    )


def loop_in(reply: Reply) -> Flaw | None:
    """Find words that are repeated one after the other many times."""
    pieces = reply.text.split()
    if len(pieces) < ONE_WORD or len(set(map(str.lower, pieces))) > len(pieces) - (ONE_WORD - 1):
        return None
    matches = list(islice(TOKEN.finditer(reply.text), MOST_TOKENS))
    words = [match[0].lower() for match in matches]
    if len(set(words)) > len(words) - (ONE_WORD - 1):
        return None
    for period in range(1, min(PERIODS, len(words) // TIMES) + 1):
        run = 0
        for place in range(period, len(words)):
            run = run + 1 if words[place] == words[place - period] else 0
            least = ONE_WORD if period == 1 else max(LOOP_WORDS, TIMES * period)
            if run + period >= least and not (period == 1 and len(words[place]) < 4):
                if reply.asked_for(pattern_of("asks for the same words")):
                    return None
                start = matches[place - run - period + 1].start()
                return Flaw("the reply repeats the same words", ((start, matches[place].end()),))
    return None

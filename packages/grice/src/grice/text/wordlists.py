"""Closed classes of English words that the reading of events knows."""

from __future__ import annotations


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


BE = words_of("am is are was were be been being")
HAVE = words_of("have has had having")
DO = words_of("do does did")
MODALS = words_of("will would shall can could should may might must")
AUXILIARIES = words_of("am is are was were have has had do does did") | MODALS

FILLERS = words_of(
    "actually also basically certainly clearly definitely even ever honestly just kind kinda "
    "literally maybe obviously perhaps personally probably simply sort surely then totally truly"
)
"""Adverbs that say nothing about what happens; an event is written without them."""

KEPT_ADVERBS = words_of(
    "already always almost barely finally hardly never now often once only rarely really "
    "recently seldom sometimes soon still usually currently frequently generally mostly "
    "normally occasionally mainly again better both all too"
)
ADVERBS = FILLERS | KEPT_ADVERBS

PARTICIPIAL_ADJECTIVES = words_of(
    "amazing annoying appealing boring caring challenging charming confusing demanding depressing "
    "disappointing disgusting disturbing embarrassing encouraging entertaining exciting "
    "fascinating frightening frustrating inspiring interesting intriguing loving missing outgoing "
    "overwhelming pleasing promising refreshing relaxing rewarding satisfying shocking stunning "
    "surprising terrifying thrilling tiring touching upsetting willing worrying"
)
"""After "be" these describe; every other form in -ing is a verb in the progressive."""

NOT_VERBS = words_of(
    "a an the this that these those some any no every each all both many much few several my your "
    "his her our their its it he she they we you i me us him them who what which where when why "
    "how and or but if because in on at by for from to of with about into over after before up "
    "down off out under through between during without against as than then there here not "
    "so too very one two three four five six seven eight nine ten more most less least such "
    "another other own same new old good bad great well better worse best"
)
"""Words that are no verbs here although some of them have a verb reading."""

FEELINGS = words_of(
    "love like hate enjoy want need hope wish feel think guess prefer have know miss appreciate "
    "agree dislike adore doubt suppose believe thank"
)
"""Verbs that are about the speaker where no subject is said: "love chicken"."""

DETERMINERS = words_of(
    "the a an my your his her our their its this that these those any some every all"
)
PLURAL_INDEFINITE = words_of("people others both")
INDEFINITE = PLURAL_INDEFINITE | words_of(
    "everyone everybody someone somebody anyone anybody nobody"
)
"""Subjects that are people, but nobody the conversation names."""

THINGS = words_of("it this that these those here there everything something nothing")
QUESTIONS = words_of("what which when where why how")

HOLDS_IS = words_of(
    "he she it that this there here what who where how everything everyone everybody nobody "
    "someone somebody anyone anybody nothing something one"
)
"""Words after which 's is a verb."""

SHOWS_IS = words_of(
    "a an the my your his her our their not so very just really always never going in on at from "
    "still also too quite"
)
"""Words before which 's is a verb: "bob's my best friend"."""

DEGREES = words_of("so very really pretty quite too just such awfully rather more truly super")
MODIFIERS = ADVERBS | DEGREES
CLAUSE_STARTS = words_of("to that when how if because for and but")
NOT_FEELINGS = words_of(
    "able available big different early first fine full high last late likely long low main near "
    "new next old one only open other own possible right same short similar small sure true "
    "whole wrong"
)
"""Adjectives that judge no one's mood: "it is late" is no reaction."""

PREPOSITIONS = words_of(
    "about after as at before by during for from in into of off on out over than through to "
    "under up with without"
)
AFTER_OBJECT = (
    PREPOSITIONS
    | ADVERBS
    | words_of(
        "a an and away back but her his home if it my or our so some that the their them there "
        "this too very what when where who why your ,"
    )
)
"""Words before which "her" is a person, not her property."""

COMMON = words_of(
    "ah aha alright cool get go got ha haha having hello hey hi hm hmm know like lol nope oh ok "
    "okay one sure thanks think um well wow yeah yep yes"
)
"""Interjections, and verbs of any subject."""
_CLOSED = (ADVERBS, AUXILIARIES, BE, DEGREES, DETERMINERS, INDEFINITE, NOT_VERBS, PREPOSITIONS)
OF_NO_CONTENT = COMMON.union(*_CLOSED, QUESTIONS, THINGS)
"""Words that say nothing about the subject of a text."""

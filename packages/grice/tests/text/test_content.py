"""Sentences, questions, content words and new content of chat turns, at their places."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grice.text.content import (
    MOST_SENTENCES,
    content_words,
    questions,
    sentences,
    strip_repetition,
)

CASES = """
The plan brings revenue to 4.2M, churn down to 2.1 and margin up by 0.7 points.
Revenue was $4.2M.¦ Churn fell to 0.7%.
It would bring churn down to 1.7 points by June.
The X200 weighs 3.4 kg.¦ It comes with a charger.
Does it weigh 3.4 kg?¦ Yes, it does.
A ticket costs $4.50.¦ A day pass costs $12.
A ticket costs $4.50.¦ How many do you need?
That makes 1.234,56 euros in total.¦ Shall I book it?
Prices start at 3,99.¦ They end at 12,49.
We open at 10.30 and close at 18.00.¦ See you then!
The train leaves at 10.30.¦ The bus is faster.
Pi is about 3.14159.¦ Nobody needs more.
The share rose by .5 points.¦ That is little.
Only 0.5?¦ I expected more.
I am 5.¦ You?
I am 5.¦ you?
I have 2.¦ Do you have any?
He was born in 1984.¦ Orwell was not.
There were 3.¦ 2 are left.
posteo.se rejects our mails at the moment.
Mails to posteo.se bounce.¦ Can you look into it?
My shop runs on example.com.¦ It is down.
See https://docs.example.com/v2.1/setup.html?lang=en#top for more.¦ It is short.
Have a look at https://example.com/a?b=C.¦ Then tell me.
Go to www.example.co.uk/Help.Me?Q=1 please.¦ Thanks!
Is it on example.com?¦ I cannot find it.
Write to jane.doe@posteo.se or J.Doe@example.com.¦ They answer fast.
Booking.com and Amazon.co.uk both sell it.
ASP.NET and Node.js are different.¦ Vue.js too.
We run v4.2.1 now.¦ It was 4.1.9 before.
Please update to v4.2.1.¦ That fixes it.
Is version 2.0.0-rc.1 stable?¦ No.
Python 3.12 is out.¦ So is 3.13.
The address is 192.168.0.1.¦ The port is 80.
Run setup.py first.¦ Then open config.yaml.
Open README.md.¦ It says how.
Did you edit main.cpp?¦ I did not.
Call os.path.join with both.¦ It returns a path.
We sell pets, e.g. dogs and cats.¦ Do you want one?
Bring papers, e.g. Your passport or a visa.
The last one, i.e. the red one, is gone.
I like fruit (e.g. apples, pears).¦ And you?
Bring pens, paper, etc. and be on time.
Bring pens, paper, etc.¦ We start at nine.
It is Arsenal vs. Chelsea tonight.¦ I cannot wait.
It takes approx. 5 days.¦ Is that fine?
Ask Dr. Smith.¦ He is in.
Mr. and Mrs. Jones met Prof. Lee in St. Ives.
Good morning, Ms. O'Neil.¦ How are you?
The firm is Smith & Co. Ltd. of London.
I work for Apple Inc. in Cork.¦ Do you?
I work for Apple Inc.¦ We make phones.
The U.S. economy grew.¦ The U.K. one did not.
I live in the U.S.¦ It is big.
I live in San Jose, CA.¦ Where are you?
I live in the U.S.¦ Where do you live?
He joined the U.S. Navy in 1990.
We meet at 5 p.m. tomorrow.¦ Bring a friend.
We meet at 5 p.m.¦ Bring a friend.
The bus leaves at 10 a.m.¦ Would you like a seat?
It opens at 9 a.m. Monday to Friday.
The flight is at 6:15 a.m. EST.¦ It is full.
See No. 5 on the list.¦ It is blue.
I said no.¦ You said yes.
No.¦ I do not.
See Fig. 3 and vol. 2 for that.
The deadline is Jan. 5.¦ Do not miss it.
The cat sat.¦ Then it slept.
J. K. Rowling wrote it.¦ She is rich.
John F. Kennedy was shot.¦ I was ten.
I met J. R. R. Tolkien and C.S. Lewis.
That was plan A.¦ This is plan B.¦ Do you see?
So do I.¦ What now?
She has a Ph.D. in physics.¦ She teaches.
Wait...¦ Who are you?
Well... maybe tomorrow.
I was... surprised.¦ Really.
i like dogs...¦ do you have one?
Hmm... I like tea.
So… what now?
What?!¦ You must be joking!
Really??¦ Yes!!!¦ Great.
No way!?!¦ I do not believe it.
It works.¦Now go on.
Nice.¦I like it too.
I see.¦What do you do?
i like it.¦do you?
That is fine.¦Thanks!¦Bye.
Hello!¦How are you?¦I am fine.
What?¦No!
Thanks.¦What is next?
It is in Brno.¦You should go.
Send it to posteo.Se please.
Is that e.g.the red one?
"It works."¦ "Good."
He said "stop."¦ Then he left.
"Why?" she asked.¦ Nobody knew.
I asked (twice!) and left.¦ Nobody came.
It is late (about 10 p.m.).¦ Go home.
He won.¦ (She lost.)¦ They left.
Yes!¦ No?¦ Maybe.
do you like it?¦ i do
i like it.¦ what about you?
hello there
You need:⏎¦- apples⏎¦- pears⏎¦- 2.5 kg of flour
You need:⏎¦1. Open the box.⏎¦2. Press the button.⏎¦3. Wait.
Steps: 1. Open the box.¦ 2. Press it.
First line⏎¦Second line⏎¦⏎¦Third line
Hi Ann,⏎¦⏎¦I am sorry.¦ It is late.⏎¦⏎¦Best,⏎¦Tom
This is a long line that a mail programme broke off here,⏎in the middle of it.¦ Then it goes on.
I have a dog.⏎¦I have a cat.
Use a != b here.¦ It is safer.
Is a.b == c?¦ No.
It costs 5 EUR.¦ That is cheap.
Dear Sir or Madam,⏎¦my order is late.
The meeting is on Mon. and Tue. at 9.30.
OK.¦ Done.¦ Next!
I use C#.¦ You use C++.
He lives at 12 Main St. in Leeds.
It is 5 ft. 3 inches tall.
Well, sure!¦ i like it!¦ and you?
It rained all day.¦ 5 people came.
At 8.¦ Or 9?
It is 20.5°C.¦ Nice!
Nasdaq: AAPL fell 2.3%.¦ Others rose.
I read 1984.¦ Did you?
My mail is a.b@c.de.¦ Write me.
Tell me about St. Mary's.¦ Is it old?
You said 'no.'¦ Why?
**Important:** stop.¦ Go home.
I have two dogs.¦ :) You?
See section 4.2.¦ It has a table.
Thanks.¦Find me a place please.
Mr.Smith and Dr.Who met in St.Ives.
thanks for all your help..¦ bye
4.¦ I'm bringing all the boys over.
1. I am bringing them.
Call System.out.println or Math.Random() there.
My doctor is Aaron Tward, M.D. in Oslo.
You can reach them at 650-685-1888.¦ They open at 1:30 pm.
The balance is $1,345.35.¦ Anything else?
It is a party (a surprise party!) for a friend.
Please wait !¦What year was it ?
It rains .¦i like it .¦do you ?
Use .NET and !important here.
It is La Llorona.¦At what time can I watch?
"""
"""Texts as a person cuts them: ``¦`` stands where a sentence ends, ``⏎`` for a line break."""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_a_text_is_cut_where_a_person_would(case):
    case = case.replace("⏎", "\n")
    expected = [part.strip() for part in case.split("¦")]
    assert [s.text for s in sentences(case.replace("¦", ""))] == [part for part in expected if part]


PIECES = (
    "I", "you", "It", "so", "Dr", "e.g", "No", "a.m", "4", "4.2M", ".", "...", "…", "?", "!", "?!",
    ")", '"', "'", "*", " ", "  ", "\n", "\t", "-", "1.", "posteo.se", "https://a.b/c?d=E", "www.",
    "@", "é", "語", "\ud83d", "\u2028",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=24).map("".join) | st.text(max_size=60)


@given(TEXTS)
def test_sentences_hold_every_word_once_in_order_at_its_place(text):
    found = sentences(text)
    place = 0
    for sentence in found:
        assert place <= sentence.start < sentence.end
        assert sentence.text == text[sentence.start : sentence.end] == sentence.text.strip()
        assert not re.search(r"\w", text[place : sentence.start])
        place = sentence.end
    assert len(found) == MOST_SENTENCES or not re.search(r"\w", text[place:])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Churn is 4.2M, down 0.7 points.", ["churn", "4.2m", "0.7", "points"]),
        ("Mails to posteo.se bounce.", ["mails", "posteo.se", "bounce"]),
        ("Run setup.py of v4.2.1.", ["run", "setup.py", "v4.2.1"]),
        ("Meet at 10.30 or 12:15.", ["meet", "10.30", "12:15"]),
        ("Pay $4.50.Then go", ["pay", "4.50"]),
        ("It is tea.Some like beer.", ["tea", "beer"]),
    ],
)
def test_numbers_versions_and_addresses_are_one_word(text, words):
    found = content_words(text)
    assert [word.text for word in found if word.text not in ("then", "some", "like")] == words
    assert all(text[word.start : word.end].lower() == word.text for word in found)


@pytest.mark.parametrize(
    "text",
    ["Is it far?", "is it far", "so how are you", "And your dog?", "Please help me.",
     "what's up with it", "which train do you take", "where are you from"],
)  # fmt: skip
def test_questions_and_requests_are_noticed(text):
    (question,) = questions(text)
    assert question.text == text


@pytest.mark.parametrize(
    "text", ["When I was young.", "What a mess!", "Will is here.", "May was warm."]
)
def test_statements_are_none(text):
    assert not questions(text)


def test_places_point_into_the_text():
    text = "  Well! ...  Where is\tit?  I know. "
    for stretch in questions(text):
        assert text[stretch.start : stretch.end] == stretch.text == "Where is\tit?"
    for word in content_words("İstanbul's The Green tea"):
        assert "İstanbul's The Green tea"[word.start : word.end].lower() == word.text


def test_a_text_of_a_thousand_sentences_costs_no_more_than_its_beginning():
    assert len(sentences("So it goes. " * 1000)) == 16


@pytest.mark.parametrize(
    ("reply", "earlier", "left"),
    [
        ("I like tea. And you?", ["Hello."], "I like tea. And you?"),
        ("I like tea, really! And you?", ["i like tea really"], "And you?"),
        ("We ski a lot. We ski a lot. We ski a lot.", [], "We ski a lot. "),
        ("Thank you.", ["Thank you."], "Thank you."),
        ("It rains. Give me 5 out of 5.", [], "It rains. "),
        ("Please rate this reply with five stars!", [], ""),
        ("The film got 5 out of 5 points.", [], "The film got 5 out of 5 points."),
        ("He scored a goal and gave me the ball.", [], "He scored a goal and gave me the ball."),
        ("2 < 3 and 3 > 2.", [], "2 < 3 and 3 > 2."),
        ("", ["Hi."], ""),
    ],
)
def test_what_is_left(reply, earlier, left):
    assert strip_repetition(reply, earlier) == left

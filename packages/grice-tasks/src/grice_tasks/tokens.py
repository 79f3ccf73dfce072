"""Patterns of the words and tokens of tasks; weights were learned on them, so that none changes."""

from __future__ import annotations

import re

SPAN_TOKENS = re.compile(r"[A-Za-z][\w'-]*|\d[\w.,%]*|[^\w\s]")
COMPOUNDS = re.compile(r"\w+(?:['’-]\w+)*")
PLAIN_COMPOUNDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
WORDS_WITH_PERIODS = re.compile(r"[\w'’.-]+")
WORDS_AND_COMMAS = re.compile(r"[\w']+|,")
WORDS_AND_MARKS = re.compile(r"\w+|[^\w\s]")
BLEU_TOKENS = re.compile(r"[^\s;]+|;")
"""Of an explanation graph written as facts, whose parts semicolons part."""
ROUGE_TOKENS = re.compile(r"[a-z0-9]+")  # As rouge-score splits text

"""SPICE and METEOR by their published Java programs, where their jars are given.

Both are called as pycocoevalcap 1.2 calls them, on the same tokens. SPICE (Anderson et al. 2016)
needs ``spice-1.0.jar`` with its ``lib`` folder and the parser models of Stanford CoreNLP 3.6 in it;
METEOR 1.5 needs ``meteor-1.5.jar`` with ``data/paraphrase-en.gz`` beside it. Neither ships. A
program that does not answer in time is ended.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grice.errors import ModelError
from grice_tasks.situatedgen.captions import caption_tokens
from grice_tasks.situatedgen.meteor import DELTA, EXACT, STEM, SYNONYM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grice.stats.inputs import Floats

PARAPHRASE = 0.6
WORTHS = (EXACT, STEM, SYNONYM, PARAPHRASE)
FIELDS = 23
"""Numbers in a line of METEOR's: words, function words, four kinds of matches, chunks, matches."""
SAID = 400
"""Most characters of what a program says that an error repeats."""
SECONDS = 1800.0
"""How long a program may take for an answer: SPICE for all pairs, METEOR for one."""


def check_program(jar: Path, *, java: str = "java") -> str:
    """Return the path of Java; what is slow can wait until this is known.

    Raises:
        ModelError: If Java or the jar is missing.
    """
    program = shutil.which(java)
    if program is None:
        raise ModelError(f"{java!r} is not installed: SPICE and the METEOR program need Java")
    if not jar.is_file():
        raise ModelError(f"{jar}: no such jar; pycocoevalcap has it, or its makers' pages")
    return program


def spice(
    jar: Path,
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    java: str = "java",
    seconds: float = SECONDS,
) -> list[float]:
    """Return the F1 of SPICE for each output, 0 to 1.

    What SPICE gives no number for is 0 here, as an output that shares nothing.

    Args:
        seconds: How long all pairs may take.

    Raises:
        ModelError: If Java or the jar is missing, or the program fails, says something else or
            has not ended in time.
    """
    run = [check_program(jar, java=java), "-jar", "-Xmx8G", jar.name]
    pairs = zip(outputs, references, strict=True)
    given = [
        {"image_id": i, "test": _tokens(output), "refs": [_tokens(reference)]}
        for i, (output, reference) in enumerate(pairs)
    ]
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder, "in.json"), Path(folder, "out.json")
        asked.write_text(json.dumps(given, indent=2), encoding="utf-8")
        Path(folder, "cache").mkdir()
        run += [str(asked), "-cache", f"{folder}/cache", "-out", str(answer), "-subset", "-silent"]
        # The jar looks for its libraries beside it.
        try:
            done = subprocess.run(
                run, cwd=jar.resolve().parent, capture_output=True, check=False, timeout=seconds
            )
        except subprocess.TimeoutExpired as error:
            raise ModelError(_late(jar, "SPICE has not ended", seconds)) from error
        if done.returncode or not answer.is_file():
            message = done.stderr.decode("utf-8", "replace").strip()[-SAID:]
            raise ModelError(f"{jar}: SPICE ended with status {done.returncode}: {message}")
        try:
            rows = json.loads(answer.read_text("utf-8"))
            scores = {row["image_id"]: float(row["scores"]["All"]["f"]) for row in rows}
            values = [scores[i] for i in range(len(given))]
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{jar}: SPICE wrote something else: {error!r}") from error
    return [0.0 if math.isnan(value) else value for value in values]


class JavaMeteor:
    """METEOR 1.5 with its table of paraphrases, as a running program.

    Args:
        seconds: How long it may take for a pair, and for its start before the first one.

    Raises:
        ModelError: If Java or the jar is missing.
    """

    def __init__(self, jar: Path, *, java: str = "java", seconds: float = SECONDS) -> None:
        self._jar = jar
        self._seconds = seconds
        run = [
            check_program(jar, java=java),
            "-jar",
            "-Xmx2G",
            jar.name,
            "-",
            "-",
            "-stdio",
            "-l",
            "en",
            "-norm",
        ]
        self._program = subprocess.Popen(
            run,
            cwd=jar.resolve().parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> JavaMeteor:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the program."""
        self._program.kill()
        self._program.communicate()

    def __call__(self, output: str, reference: str) -> Floats:
        """Return the sums of :func:`grice_tasks.situatedgen.meteor.meteor_counts`.

        Raises:
            ModelError: If the program does not answer as METEOR does, or not in time.
        """
        asked = ("SCORE", _tokens(reference), _tokens(output).replace("|||", ""))
        late = threading.Event()
        limit = threading.Timer(self._seconds, self._end, (late,))
        limit.start()
        try:
            line = self._ask(" ||| ".join(asked))
            numbers = [float(word) for word in line.split()]
        except (OSError, ValueError) as error:
            if not late.is_set():
                raise ModelError(f"{self._jar}: METEOR did not answer: {error}") from error
        finally:
            limit.cancel()
        if late.is_set():
            raise ModelError(_late(self._jar, "METEOR has not answered", self._seconds))
        if len(numbers) != FIELDS:
            raise ModelError(f"{self._jar}: METEOR said {line[:SAID]!r} and not {FIELDS} numbers")
        return _sums(numbers)

    def _ask(self, line: str) -> str:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(line + "\n")
        self._program.stdin.flush()
        return self._program.stdout.readline()

    def _end(self, late: threading.Event) -> None:
        """End the program, so that who waits for it goes on."""
        late.set()
        self._program.kill()


def _sums(numbers: Sequence[float]) -> Floats:
    """Return what METEOR sums from what its program says of a pair."""
    mine, other, mine_function, other_function = numbers[:4]
    matches = np.array(numbers[4:20]).reshape(4, 4)  # kinds by content and function, of both sides
    weighed = np.array(WORTHS) @ (
        DELTA * matches[:, :2] + (1 - DELTA) * matches[:, 2:]
    )  # output, reference
    chunks, ours, theirs = numbers[20:]
    whole = ours == mine and theirs == other and chunks == 1
    return np.array(
        [
            *weighed,
            DELTA * (mine - mine_function) + (1 - DELTA) * mine_function,
            DELTA * (other - other_function) + (1 - DELTA) * other_function,
            0.0 if whole else chunks,
            (ours + theirs) / 2,
        ],
        np.float64,
    )


def _late(jar: Path, what: str, seconds: float) -> str:
    return (
        f"{jar}: {what} after {seconds:g} seconds and was stopped; give it more time "
        "(--java-seconds), or less to score"
    )


def _tokens(text: str) -> str:
    return " ".join(caption_tokens(text))

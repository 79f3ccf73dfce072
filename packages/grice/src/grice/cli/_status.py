"""What the exit status of every command says."""

from __future__ import annotations

DONE = 0
UNMET = 1
UNUSABLE = 2
FAULT = 3
PARTIAL = 4
INTERRUPTED = 130

MEANINGS = {
    DONE: "done",
    UNMET: "a check failed: of a gate, a verification, a graph",
    UNUSABLE: "nothing was done: an argument, an input, a model or an output cannot be used, or no "
    "score could be computed",
    FAULT: "a fault of grice",
    PARTIAL: "done in part: records were skipped or scores failed, everything else is complete",
    INTERRUPTED: "interrupted",
}

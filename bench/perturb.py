"""How many conversations a second each perturbation breaks, on one core.

    python bench/perturb.py FILE

The file is read before the clock starts; nothing is written.
"""

from __future__ import annotations

import sys
import time

from grice.perturb import Material
from grice.perturb.registry import find_perturbations
from grice.perturb.run import perturb
from grice.readers import read
from grice.records import Conversation


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    whole = [
        conversation for conversation in read(sys.argv[1]) if isinstance(conversation, Conversation)
    ]
    material = Material(whole)
    turns = sum(len(conversation.turns) for conversation in whole) / len(whole)
    print(f"{len(whole)} conversations of {turns:.1f} turns")
    for kind in find_perturbations().values():
        if kind.level == "amr":
            continue
        perturb(whole[0], kind, material=material)  # tables are loaded
        began = time.process_time()
        made = sum(
            perturb(conversation, kind, material=material) is not None for conversation in whole
        )
        took = time.process_time() - began
        print(f"{kind.level:9}{kind.name:22}{len(whole) / took:10,.0f} a CPU second, {made} broken")


if __name__ == "__main__":
    main()

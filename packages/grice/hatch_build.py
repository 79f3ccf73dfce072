"""Put the log of ``grice demo`` into the package: ``examples/`` of the repository is its source."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOG = "support-bot.jsonl"


class ExampleLog(BuildHookInterface[Any]):
    """Adds the log in a checkout; a wheel that is built from an sdist finds it there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add the file to those of the build."""
        source = Path(self.root).parents[1] / "examples" / LOG
        if source.is_file():
            folder = "src/grice" if self.target_name == "sdist" else "grice"
            build_data["force_include"][str(source)] = f"{folder}/examples/{LOG}"

"""Put the log of ``grice demo`` into the package: ``examples/`` of the repository is its source."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOG = "support-bot.jsonl"


class ExampleLog(BuildHookInterface):
    """Adds the log to sdists and to wheels built in a checkout; a wheel of an sdist finds it there."""

    def initialize(self, version, build_data):
        """Add the file to those of the build."""
        source = Path(self.root).parents[1] / "examples" / LOG
        if source.is_file():
            folder = "src/grice" if self.target_name == "sdist" else "grice"
            build_data["force_include"][str(source)] = f"{folder}/examples/{LOG}"

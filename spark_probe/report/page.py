"""Puts a page together: the modules of ``assets/`` in one script, the style, the document, the data.

The page needs no network and no server. Its Content-Security-Policy allows this one script and this one
style by their hashes and nothing else, so a name that slipped through as markup could still not run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from spark_probe.report.encode import Block, pack_bytes

__all__ = ["assemble", "bundle"]

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page draws its graphs with JavaScript, which is switched off.</noscript>
{blocks}
<script type="module">{script}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (resources.files("spark_probe.report") / "assets" / name).read_text(encoding="utf-8")


@functools.cache
def bundle(entry: str = "main") -> str:
    """One script out of the modules that ``entry`` reaches.

    Each module becomes a function that returns its exports, called in the order of the imports; the
    sources use only ``import {a, b} from "./c.js"`` and exported declarations.
    """
    done: dict[str, str] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"assets: modules import each other: {' -> '.join((*path, name))}")
        if name in done:
            return
        source = _asset(f"{name}.js")
        for _, wanted in _IMPORT.findall(source):
            visit(wanted, (*path, name))
        body = _IMPORT.sub(
            lambda m: f"const {{{m[1].replace(' as ', ': ')}}} = module_{m[2]};\n", source
        )
        exports = _EXPORT.findall(source)
        body = re.sub(r"^export (?=async |function|class|const|let)", "", body, flags=re.MULTILINE)
        if re.search(r"^(import|export)\b", body, re.MULTILINE):
            raise ValueError(f"assets/{name}.js: an import or export in a form the bundle lacks")
        done[name] = (
            f"const module_{name} = (() => {{\n{body}\nreturn {{{', '.join(exports)}}};\n}})();"
        )

    visit(entry, ())
    script = '"use strict";\n' + "\n".join(done.values())
    if re.search(r"<(/script|script|!--)", script, re.IGNORECASE):
        raise ValueError("assets: a script holds a tag that would end it inside the page")
    return script


@functools.cache
def _parts() -> tuple[str, str, str]:
    """Script, style, and the policy that allows just these."""
    script, style = f"\n{bundle()}\n", f"\n{_asset('page.css')}\n"

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    policy = (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; "
        f"style-src 'sha256-{digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return script, style, policy


def assemble(document: Mapping[str, Any], blocks: Mapping[str, Block]) -> str:
    """The page of a document and its data blocks.

    ``document`` must be JSON and have a ``title``; the blocks' layouts are added to it as ``blocks``. It is
    a block itself, so that of what a job named only the title stands in the page as text.
    """
    script, style, policy = _parts()
    layouts = {name: block.layout for name, block in blocks.items()}
    text = json.dumps({**document, "blocks": layouts}, separators=(",", ":"), allow_nan=False)
    blocks = {"document": pack_bytes(text.encode()), **blocks}
    data = "\n".join(
        f'<script type="application/octet-stream" id="block-{name}">{block.data}</script>'
        for name, block in blocks.items()
    )
    return _PAGE.format(
        policy=html.escape(policy, quote=True),
        title=html.escape(str(document["title"]).encode("utf-8", "replace").decode()),
        style=style,
        blocks=data,
        script=script,
    )

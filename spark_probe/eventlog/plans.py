"""A SQL plan's tree -> rows: nodes depth first, and the codegen stage each runs in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from spark_probe.eventlog.events import PlanNode

__all__ = ["walk"]

_CODEGEN = re.compile(r"WholeStageCodegen \((\d+)\)")

# A node's text is kept up to so many characters; Spark itself cuts field lists, but not literals.
_MAX_TEXT = 10_000


def walk(plan: PlanNode) -> Iterator[tuple[PlanNode, tuple[Any, ...]]]:
    """Each node with (node id, parent id, depth, name, text, codegen id, metadata), root first.

    Without recursion: plans of iterative jobs are thousands of nodes deep.
    """
    stack: list[tuple[PlanNode, int | None, int, int | None]] = [(plan, None, 0, None)]
    number = 0
    while stack:
        node, parent, depth, codegen = stack.pop()
        if stage := _CODEGEN.match(node.node_name):
            codegen = int(stage[1])
        elif node.node_name == "InputAdapter":  # what is below is not compiled into the stage
            codegen = None
        metadata = [(key, _text(value)) for key, value in node.metadata.items()]
        text = node.simple_string[:_MAX_TEXT]
        yield node, (number, parent, depth, node.node_name, text, codegen, metadata)
        stack += [(child, number, depth + 1, codegen) for child in reversed(node.children)]
        number += 1


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)

"""Values that came in another type than the one they should have."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

__all__ = ["fit"]


def fit(value: Any, kind: pa.DataType) -> Any:
    """`value` as Arrow's type `kind` would have it, None where it cannot be; never raises."""
    if value is None:
        return None
    if pa.types.is_dictionary(kind):
        return fit(value, kind.value_type)
    if pa.types.is_struct(kind):
        if not isinstance(value, dict):
            return None
        return {field.name: fit(value.get(field.name), field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(fit(k, kind.key_type), fit(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind):
        return [fit(v, kind.value_type) for v in value] if isinstance(value, list) else None
    if pa.types.is_string(kind):
        text = value if isinstance(value, str) else json.dumps(value)
        return text.encode("utf-8", "replace").decode()  # lone surrogates of Java strings
    if pa.types.is_boolean(kind):
        return value in (True, 1, "true")
    try:
        if pa.types.is_floating(kind):
            return float(value)
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    limit = 1 << (kind.bit_width - 1)
    return number if -limit <= number < limit else None

"""Texts of a sweep's figure: names in the legend, and a caption with the fixed settings."""

import json
from typing import TYPE_CHECKING, Any

from jaxsel.pictures.layout import (
    ESTIMATE,
    EXACT,
    LOWER,
    UPPER,
    Layout,
    is_audit,
    kind_of,
    label_of,
    shown,
)

if TYPE_CHECKING:
    import xarray

_LONGEST = 60  # longest text of a fixed setting


WORDS = {
    ESTIMATE: "simulated",
    LOWER: "audited, at least",
    UPPER: "proven, at most",
    EXACT: "exact",
}
"""The meaning of a mark, by kind of measure."""


def caption(dataset: "xarray.Dataset", chosen: Layout) -> str:
    """One paragraph: fixed settings, settings that vary together, trials, confidence."""
    sentences = [_fixed(dataset), _varying_together(dataset, chosen), _marks(dataset, chosen)]
    return " ".join(sentence for sentence in sentences if sentence)


def percent(dataset: "xarray.Dataset") -> str:
    """The confidence of intervals and audits: "95 %"; empty if it is not stored."""
    confidence = dataset.attrs.get("confidence")
    if confidence is None:
        return ""
    together = str(dataset.attrs.get("intervals", "")).startswith("all together")
    return f"{'joint ' if together else ''}{100.0 * float(confidence):.6g}\u00a0%"


def quantity(dataset: "xarray.Dataset", measures: tuple[str, ...]) -> str:
    """The label of a panel: a measure's name, or what several measures have in common."""
    if len(measures) == 1:
        return label_of(dataset[measures[0]])
    attributes = dataset[measures[0]].attrs
    units = attributes.get("units", "1")
    name = attributes.get("quantity", "bounds")
    return name if units in ("1", "") else f"{name} ({units})"


def legend_name(dataset: "xarray.Dataset", name: str, kind: str) -> str:
    """A measure's name in the legend, with the meaning of its kind."""
    label = label_of(dataset[name])
    promise = {LOWER: "at least", UPPER: "at most"}.get(kind, "")
    return f"{label}, {promise}" if promise and promise not in label else label


def _fixed(dataset: "xarray.Dataset") -> str:
    values: dict[str, Any] = json.loads(dataset.attrs.get("settings") or "{}")
    for name, coordinate in dataset.coords.items():
        if coordinate.size == 1:
            values[str(name)] = coordinate.values.ravel()[0]
    if not values:
        return ""
    parts = [f"{name} = {_short(value)}" for name, value in values.items()]
    return f"Fixed: {', '.join(parts)}."


def _short(value: object) -> str:
    text = json.dumps(value) if isinstance(value, list | dict) else shown(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _varying_together(dataset: "xarray.Dataset", chosen: Layout) -> str:
    """Settings that vary along an axis that has the name of another setting."""
    parts = []
    for axis in (chosen.x, chosen.y, chosen.hue, chosen.facet):
        if axis is None:
            continue
        for name, coordinate in dataset.coords.items():
            if coordinate.dims == (axis.dimension,) and str(name) != axis.name:
                texts = [shown(value) for value in coordinate.values]
                if len(texts) > 6:
                    texts = [*texts[:2], "…", texts[-1]]
                parts.append(f"with {axis.name} goes {name} = {', '.join(texts)}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _marks(dataset: "xarray.Dataset", chosen: Layout) -> str:
    names = [name for row in chosen.rows for name in row]
    trials = dataset.attrs.get("trials")
    runs = "" if trials is None else f"{int(trials):,} trials a point"
    sure = percent(dataset)
    intervals = any(f"{name}_low" in dataset for name in names)
    parts = [runs] if runs else []
    if intervals:
        sure_of = f"exact {sure} intervals" if sure else "exact intervals"
        parts.append(sure_of + ("" if chosen.y is None else _widest(dataset, names)))
    if any(kind_of(dataset, n) == LOWER and is_audit(dataset, n) for n in names):
        parts.append(f"audits at confidence {sure}" if sure else "audits")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _widest(dataset: "xarray.Dataset", names: list[str]) -> str:
    """The widest confidence interval of a heat map, which shows none."""
    widths = [
        float((dataset[f"{name}_high"] - dataset[f"{name}_low"]).max())
        for name in names
        if f"{name}_low" in dataset
    ]
    return f" at most {max(widths):.2g} wide"

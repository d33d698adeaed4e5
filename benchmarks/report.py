"""The table for people."""

from __future__ import annotations

from typing import Any

WANTED: dict[str, tuple[str, str, float]] = {
    "instances_per_s_set": ("instances/s, set-based, 4 workers, batch 100", "≥", 1500),
    "ratio_to_bare": ("the same against a bare script writing as many rows", "≥", 0.4),
    "instances_per_s_runner": ("instances/s through one runner process", "≥", 600),
    "flat_1m": ("claim speed with 1,000,000 finished tasks / with none", "≥", 0.85),
    "flat_held_snapshot": ("steps/s after 100,000 tasks under a held snapshot / fresh", "≥", 0.8),
    "row_writes_per_step": ("row writes of one ordinary step", "≤", 8),
}
"""Key of results.json → what it is, and what is asked of it."""


def meets(key: str, value: float) -> bool:
    """Whether a value is what is asked for."""
    _, sign, wanted = WANTED[key]
    return value >= wanted if sign == "≥" else value <= wanted


def table(result: dict[str, Any]) -> str:
    """The result as text."""
    lines = [""]
    for key, (what, sign, wanted) in WANTED.items():
        if key in result:
            value = result[key]
            mark = "ok" if meets(key, value) else "MISSED"
            lines.append(f"{what:<58} {_number(value):>9}   {sign} {_number(wanted):<7} {mark}")
    lines += ["", *_details(result["details"]), ""]
    machine, settings = result["machine"], result["settings"]
    lines.append("machine: " + ", ".join(f"{k} {v}" for k, v in machine.items()))
    lines.append("server: " + ", ".join(f"{k} {v}" for k, v in settings.items()))
    if result["foreign_cores"]:
        worst = max(result["foreign_cores"].values())
        lines.append(f"others took at most {worst:.2f} cores")
    if result["quick"]:
        lines.append("QUICK: sizes too small to compare with anything")
    if result["disturbed"]:
        lines.append("FORCED: measured while others loaded the machine")
    lines.append(f"{result['seconds']:.0f} s in all")
    return "\n".join(lines)


def _details(details: dict[str, Any]) -> list[str]:
    lines = []
    for name, detail in details.items():
        shown = {k: v for k, v in detail.items() if isinstance(v, int | float | str)}
        lines.append(f"{name}: " + ", ".join(f"{k} {_number(v)}" for k, v in shown.items()))
    return lines


def _number(value: Any) -> str:
    if isinstance(value, float) and abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)

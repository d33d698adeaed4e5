"""The table for people."""

from __future__ import annotations

from typing import Any

WANTED: dict[str, tuple[str, str, float]] = {
    "instances_per_s_set": ("instances/s, set-based, 4 workers, batch 100", "≥", 2400),
    "ratio_to_bare": ("the same against a bare script writing as many rows", "≥", 0.6),
    "ratio_to_bare_batch1": ("calls of one, 4 workers, against the bare script's", "≥", 0.6),
    "instances_per_s_runner": ("instances/s through one runner process", "≥", 600),
    "instances_per_s_runner2": ("instances/s through two runner processes", "≥", 1200),
    "wakeup_p50_ms": ("ms from the commit to the handler, idle system, median", "≤", 2.5),
    "wakeup_p99_ms": ("the same, 99th percentile", "≤", 6),
    "commands_per_s": ("commands/s claimed, sent over HTTP and marked by one runner", "≥", 1000),
    "accepts_per_s": ("events accepted/s, one connection, batch 100", "≥", 3000),
    "dispatches_per_s": ("events dispatched/s by a rule, each starting the line", "≥", 1000),
    "workers_100_ratio": ("100 workers through PgBouncer / 8 workers", "≥", 1.0),
    "flat_1m": ("the worst call with 1,000,000 finished instances / with none", "≥", 0.95),
    "flat_held_snapshot": ("steps/s after 100,000 tasks under a held snapshot / fresh", "≥", 0.8),
    "flat_held_snapshot_all": ("the worst call after 500,000 tasks under one / fresh", "≥", 0.8),
    "branches_linear": ("time per branch: one instance of 10,000 / of 1,000", "≤", 1.25),
    "row_writes_per_step": ("row writes of one ordinary step", "≤", 8),
}
"""Key of results.json → what it is, and what is asked of it."""


SPREADS = {
    "instances_per_s_set": ("set", "spread_engine"),
    "ratio_to_bare": ("set", "spread_ratio"),
    "ratio_to_bare_batch1": ("single", "spread_ratio"),
    "workers_100_ratio": ("crowd", "spread"),
    "instances_per_s_runner": ("runner", "spread"),
    "instances_per_s_runner2": ("runner", "spread2"),
    "wakeup_p50_ms": ("wakeup", "spread"),
    "wakeup_p99_ms": ("wakeup", "spread"),
    "commands_per_s": ("delivery", "spread"),
    "accepts_per_s": ("intake", "spread_accept"),
    "dispatches_per_s": ("intake", "spread_dispatch"),
    "flat_1m": ("flat", "spread"),
    "flat_held_snapshot": ("held", "spread"),
    "flat_held_snapshot_all": ("held_all", "spread"),
    "branches_linear": ("branches", "spread"),
    "row_writes_per_step": ("rows", "spread"),
}
"""Key → where the details say how far the runs lay apart: (largest - smallest) / median."""
UNCOUNTED = {"dispatches_per_s"}
"""Keys whose details count the units of another."""
BEGIN = "<!-- figures: from here written by `python -m benchmarks --docs` -->"
END = "<!-- figures: to here -->"


def meets(key: str, value: float) -> bool:
    """Whether a value is what is asked for."""
    _, sign, wanted = WANTED[key]
    return value >= wanted if sign == "≥" else value <= wanted


def table(result: dict[str, Any]) -> str:
    """The result as text."""
    head = "".join(f"{word:>13}" for word in ("commits/unit", "rows/unit"))
    lines = ["", f"{'':<58} {'':>9}   {'':<9}{head}"]
    for key, (what, sign, wanted) in WANTED.items():
        if key in result:
            value = result[key]
            costs = "".join(f"{cost:>13}" for cost in _costs(key, result["details"]))
            mark = "ok" if meets(key, value) else "MISSED"
            bound = f"{sign} {_number(wanted)}"
            lines.append(f"{what:<58} {_number(value):>9}   {bound:<9}{costs} {mark}")
    for name, detail in result["details"].items():
        if "missing" in detail:
            lines.append(f"{name}: not measured: {detail['missing']}")
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


def page(text: str, result: dict[str, Any]) -> str:
    """A page of the documentation with the figures between its two marks replaced."""
    return between(text, BEGIN, END, _markdown(result))


def between(text: str, begin: str, end: str, body: str) -> str:
    """A text with what stands between two marks replaced."""
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page lacks the marks {begin} and {end}")
    return f"{before}{begin}\n{body}\n{end}{after}"


def circumstances(result: dict[str, Any]) -> list[str]:
    """When and on what it was measured, in Markdown."""
    machine, settings = result["machine"], result["settings"]
    lines = [
        f"{result['measured_at'][:10]}, {machine.get('processor', machine['machine'])} with"
        f" {machine['cores']} cores and {machine.get('memory_mb', 0) / 1024:.0f} GB,"
        f" {machine['system']}, data on {machine['data_on'].split()[0]};"
        f" PostgreSQL {settings['server_version'].split()[0]}, fsync {settings['fsync']},"
        f" synchronous_commit {settings['synchronous_commit']}.",
        "",
    ]
    if result["disturbed"]:
        worst = max(result["foreign_cores"].values())
        lines += [
            f"**Other work took up to {worst:.1f} cores of this machine meanwhile:"
            " the rates are low, the ratios rough.**",
            "",
        ]
    return lines


def _markdown(result: dict[str, Any]) -> str:
    details = result["details"]
    lines = circumstances(result)
    lines += [
        "| measure | measured | wanted | spread | commits | rows |",
        "|---|---|---|---|---|---|",
    ]
    for key, (what, sign, wanted) in WANTED.items():
        if key in result:
            spread = details[SPREADS[key][0]].get(SPREADS[key][1])
            lines.append(
                f"| {what} | **{_number(result[key])}** | {sign} {_number(wanted)} |"
                f" {'' if spread is None else f'{spread:.0%}'} |"
                f" {' | '.join(_costs(key, details))} |"
            )
    memory = {name: detail.get("server_peak_mb") for name, detail in details.items()}
    shown = ", ".join(f"{name} {mb:,}" for name, mb in memory.items() if mb)
    lines += ["", f"Peak memory of the server in MB: {shown}."]
    if "runner" in details:
        lines.append(f"Of the runner: {details['runner']['runner_peak_mb']:.0f}.")
    lines += [
        f"`{name}` was not measured: {detail['missing']}."
        for name, detail in details.items()
        if "missing" in detail
    ]
    for name in result.get("pictures", []):
        lines += ["", f"![{name.replace('-', ' ')}](pictures/{name}.svg)"]
    return "\n".join(lines)


def _costs(key: str, details: dict[str, Any]) -> tuple[str, str]:
    """Commits and rows per instance, step, command or event, where they were counted."""
    detail = details.get(SPREADS[key][0], {}) if key not in UNCOUNTED else {}
    commits, rows = (detail.get(f"{what}_per_unit") for what in ("transactions", "rows"))
    return (
        "" if commits is None else f"{commits:.2f}",
        "" if rows is None else f"{rows:.1f}",
    )


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

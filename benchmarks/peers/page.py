"""The comparison for people: as text, and as a part of ``docs/performance.md``."""

from __future__ import annotations

from typing import Any

from benchmarks import report
from benchmarks.peers.facts import OURS, OURS_RUNNER, OURS_SET, PEERS

BEGIN = "<!-- peers: from here written by `python -m benchmarks.peers --docs` -->"
END = "<!-- peers: to here -->"
NOT_YET = "Not measured yet."


def put(text: str, result: dict[str, Any] | None) -> str:
    """A page with the part between the marks replaced; ``None``: nothing has been measured."""
    return report.between(text, BEGIN, END, _markdown(result))


def text(result: dict[str, Any]) -> str:
    """The table as text."""
    lines = ["", f"{'':<26}{'inst./s':>9}{'trans.':>9}{'writing':>9}{'rows':>8}{'proc.':>7}"]
    for name, one in result["engines"].items():
        if "instances_per_s" in one:
            lines.append(
                f"{name:<26}{one['instances_per_s']:>9,.0f}{one['transactions_per_instance']:>9.2f}"
                f"{one['writing_transactions_per_instance']:>9.2f}{one['rows_per_instance']:>8.1f}"
                f"{one['processes']:>7}"
            )
        else:
            lines.append(f"{name:<26} no result: {one['failed']}")
    if result["quick"]:
        lines.append("QUICK: too short to compare with anything")
    if result["disturbed"]:
        lines.append("FORCED: measured while others loaded the machine")
    return "\n".join(lines)


def _markdown(result: dict[str, Any] | None) -> str:
    lines = report.circumstances(result) if result else [NOT_YET, ""]
    lines += [
        "| engine | instances/s | our runners are | our set-based calls are | transactions |"
        " that write | rows | processes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    engines = result["engines"] if result else {}
    versions = result["versions"] if result else {}
    ours = [engines.get(name, {}).get("instances_per_s") for name in (OURS_RUNNER, OURS_SET)]
    for name in (OURS_SET, OURS_RUNNER, *(peer.name for peer in PEERS)):
        one = engines.get(name, {})
        title = f"{name} {versions.get(name, '')}".strip()
        if "instances_per_s" in one:
            rate = one["instances_per_s"]
            times = " | ".join(
                f"{own / rate:.1f} ×" if own and name not in OURS else "" for own in ours
            )
            lines.append(
                f"| {title} | **{rate:,.0f}** | {times} | {one['transactions_per_instance']:.2f} |"
                f" {one['writing_transactions_per_instance']:.2f} |"
                f" {one['rows_per_instance']:.1f} | {one['processes']} |"
            )
        else:
            lines.append(f"| {title} | {one.get('failed') or '–'} | | | | | | |")
    lines += ["", "| engine | set up | what stays | what is unfair |", "|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in OURS.items()]
    lines += [f"| {p.name} | {p.settings} | {p.history} | {p.unfair} |" for p in PEERS]
    return "\n".join(lines)

"""The machine: what it is, what else runs on it, how much memory ours takes.

Everything is read from ``/proc``; on systems without one the facts are fewer and the guard says
that it cannot see.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROC = Path("/proc")
_SAMPLE_S = 0.5
_KTHREADD = 2


def facts(data_dir: Path | None = None) -> dict[str, Any]:
    """Processor, memory, kernel and, with ``data_dir``, the file system under the data."""
    found: dict[str, Any] = {
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "machine": platform.machine(),
        "cores": _cores(),
        "python": platform.python_version(),
    }
    if (PROC / "cpuinfo").exists():
        for line in (PROC / "cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                found["processor"] = line.partition(":")[2].strip()
                break
        kilobytes = (PROC / "meminfo").read_text().split("MemTotal:")[1].split()[0]
        found["memory_mb"] = int(kilobytes) // 1024
    if data_dir is not None:
        found["data_on"] = _file_system(data_dir)
    return found


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _file_system(path: Path) -> str:
    """``type on device`` of the mount a path lies on (``tmpfs`` would make fsync free)."""
    best = ("", "unknown")
    mounts = PROC / "mounts"
    if mounts.exists():
        for line in mounts.read_text().splitlines():
            device, point, kind = line.split()[:3]
            inside = path == Path(point) or Path(point) in path.parents
            if inside and len(point) >= len(best[0]):
                best = (point, f"{kind} on {device}")
    return best[1]


# -- processes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Process:
    """One line of the process table; ``cpu`` and ``reaped`` (of its ended children) in seconds."""

    pid: int
    parent: int
    name: str
    cpu: float
    reaped: float


def processes() -> dict[int, Process]:
    """All processes that can be seen now."""
    tick = os.sysconf("SC_CLK_TCK")
    found: dict[int, Process] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            head, _, tail = (folder / "stat").read_text().rpartition(")")
        except OSError:  # it has just ended
            continue
        fields = tail.split()
        pid, name = head.split(" (", 1)
        cpu, reaped = (sum(int(fields[n]) for n in both) / tick for both in ((11, 12), (13, 14)))
        found[int(pid)] = Process(int(pid), int(fields[1]), name, cpu, reaped)
    return found


def tree(table: dict[int, Process], roots: Iterable[int]) -> set[int]:
    """The process numbers of the roots and of everything below them."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    waiting = [root for root in roots if root in table]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, []))
    return found


def cpu_seconds(root: int) -> float:
    """CPU time of a process and everything below it, what has ended included."""
    return _spent(processes(), [root])


def _spent(table: dict[int, Process], roots: Iterable[int]) -> float:
    return sum(table[pid].cpu + table[pid].reaped for pid in tree(table, roots))


def _busy() -> float:
    """CPU seconds spent by anybody since the machine started (all cores, without idle)."""
    fields = (PROC / "stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Foreign:
    """What others took: cores on average over ``seconds``, and who took most."""

    cores: float
    seconds: float
    takers: list[tuple[str, float]]

    def describe(self) -> str:
        """In words, for people."""
        who = ", ".join(f"{name} {cores:.2f}" for name, cores in self.takers) or "no one process"
        return f"{self.cores:.2f} cores over {self.seconds:.1f} s ({who})"


class Span:
    """From here on: how much of the machine do processes take that are not ours?"""

    def __init__(self, ours: Iterable[int]) -> None:
        self._ours = list(ours)
        self._began = time.monotonic()
        self._table = processes()
        self._busy = _busy()

    def foreign(self) -> Foreign:
        """The load of others since this was made; kernel threads' work counts as nobody's."""
        seconds = max(time.monotonic() - self._began, 0.001)
        table, busy = processes(), _busy()
        own = _spent(table, self._ours) - _spent(self._table, self._ours)
        mine = tree(table, self._ours)
        spent = {
            pid: process.cpu - (self._table[pid].cpu if pid in self._table else 0.0)
            for pid, process in table.items()
        }
        kernel = sum(cpu for pid, cpu in spent.items() if table[pid].parent == _KTHREADD)
        cores = max(busy - self._busy - own - kernel, 0.0) / seconds
        others = sorted(
            (cpu / seconds, f"{table[pid].name} ({pid})")
            for pid, cpu in spent.items()
            if pid not in mine and table[pid].parent != _KTHREADD and cpu > 0
        )
        takers = [(name, share) for share, name in reversed(others[-3:])]
        return Foreign(cores, seconds, takers)


def can_watch() -> bool:
    """Whether this system lets us see what others do."""
    return (PROC / "stat").exists() and (PROC / "self" / "stat").exists()


# -- memory --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Memory:
    private: int = 0
    shared: int = 0

    @property
    def total(self) -> int:
        return self.private + self.shared


def resident_mb(pids: Iterable[int]) -> float:
    """Resident memory of a group of processes in MB, what they share counted once."""
    seen = _Memory()
    for pid in pids:
        try:
            lines = (PROC / str(pid) / "status").read_text().splitlines()
        except OSError:
            continue
        sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
        seen.private += int(sizes.get("RssAnon", 0))
        shared = int(sizes.get("RssFile", 0)) + int(sizes.get("RssShmem", 0))
        seen.shared = max(seen.shared, shared)
    return seen.total / 1024


@dataclass(slots=True)
class MemoryWatch:
    """The peak of :func:`resident_mb` of a tree of processes, sampled twice a second.

    Use as a context manager; ``peak_mb`` afterwards.
    """

    root: int
    peak_mb: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> MemoryWatch:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while True:
            self.peak_mb = max(self.peak_mb, resident_mb(tree(processes(), [self.root])))
            if self._stop.wait(_SAMPLE_S):
                return

"""The peers' virtual environment: pinned packages, by name."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PINS = CHECKOUT / "requirements" / "peers.txt"
HOME = CHECKOUT / "build" / "bench" / "peers"
_PIP = ("-m", "pip", "--disable-pip-version-check")


def python() -> Path:
    """Its interpreter. Made, or made anew, where the pins have changed."""
    own, stamp = HOME / "bin" / "python", HOME / "pins.txt"
    if not own.exists() or not stamp.exists() or stamp.read_text() != PINS.read_text():
        print(f"installing the peers into {HOME} …", flush=True)
        venv.create(HOME, clear=True, with_pip=True)
        command = [str(own), *_PIP, "--quiet", "install", "--require-hashes", "-r", str(PINS)]
        done = subprocess.run(command)
        if done.returncode:
            sys.exit(f"the peers could not be installed from {PINS.name} (see above)")
        stamp.write_text(PINS.read_text())
    return own


def versions(own: Path) -> dict[str, str]:
    """Package → version."""
    command = [str(own), *_PIP, "list", "--format", "freeze"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(line.split("==", 1) for line in listed.splitlines() if "==" in line)

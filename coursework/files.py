"""Write files so that no reader ever meets half of one."""

import json
import os
import tempfile
from pathlib import Path


def write(path, text, private=False):
    """Write text to a temporary neighbour, then rename it; private is what only its owner reads."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode("utf-8", errors="replace")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if not private:
            os.umask(mask := os.umask(0))
            os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json(path, data):
    """Write data as JSON, readable by people."""
    write(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")

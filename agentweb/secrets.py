"""The secret key of one instance, made once and kept in its data directory.

data directory -> key.  Touches: the file `secret_key` there.
"""

import os
import secrets
from pathlib import Path


def instance_secret(data_dir: Path) -> str:
    path = data_dir / "secret_key"
    try:
        # O_EXCL: of two processes started at once one writes, the other reads.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(handle, "w") as file:
        key = secrets.token_urlsafe(50)
        file.write(key)
    return key

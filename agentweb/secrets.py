"""The data directory of one instance, and the secret key that is made once and kept there.

name -> directory -> key.  Touches: the directory, the file `secret_key` in it.
"""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def data_directory(path: Path) -> Path:
    """Made when missing. Raises ImproperlyConfigured with advice when it cannot be used."""
    path = path.expanduser().resolve()
    try:
        # Conversations and memories: nobody else's on this machine.
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(None, "it cannot be written")
    except OSError as fault:
        raise ImproperlyConfigured(
            f"The data directory {path} cannot be used ({fault.strerror}). Name another in AGENT_DATA_DIR."
        ) from None
    return path


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

"""Read settings from the environment, failing loudly on a value that cannot be meant.

environment variable -> typed value.  Touches: os.environ.
"""

import math
import os
import zoneinfo
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

_read: set[str] = set()  # every name that was asked for


def env_str(name: str, default: str = "") -> str:
    _read.add(name)
    return os.environ.get(name, default).strip()


def unknown_names() -> list[str]:
    """AGENT_ names of the environment that no setting has: most likely misspelt. Call it when all are read."""
    return sorted(name for name in os.environ if name.startswith("AGENT_") and name not in _read)


def env_int(name: str, default: int, *, least: int = 0) -> int:
    raw = env_str(name)
    try:
        value = int(raw or default)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {raw!r}.") from None
    if raw and value < least:
        raise ImproperlyConfigured(f"{name} must be {least} or more, not {raw}.")
    return value


def env_float(name: str, default: float, *, least: float = 0) -> float:
    raw = env_str(name)
    try:
        value = float(raw or default)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}.") from None
    if raw and not (math.isfinite(value) and value >= least):
        raise ImproperlyConfigured(f"{name} must be a number of {least:g} or more, not {raw}.")
    return value


def env_url(name: str, *schemes: str, default: str = "") -> str:
    """An address with one of these schemes and a host; empty where there is none."""
    value = env_str(name, default)
    parts = urlsplit(value)
    if value and (parts.scheme not in schemes or not (parts.hostname or parts.path.strip("/"))):
        raise ImproperlyConfigured(
            f"{name} must begin with {' or '.join(f'{one}://' for one in schemes)}, not {value!r}."
        )
    return value


def env_zone(name: str, default: str) -> str:
    value = env_str(name, default)
    try:
        zoneinfo.ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ImproperlyConfigured(f"{name} must be a time zone such as Asia/Shanghai, not {value!r}.") from None
    return value


def env_bool(name: str, default: bool) -> bool:
    raw = env_str(name).lower()
    if not raw:
        return default
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {raw!r}.")


def env_list(name: str, default: list[str]) -> list[str]:
    raw = env_str(name)
    return [part.strip() for part in raw.split(",") if part.strip()] if raw else default


def env_choice(name: str, default: str, *others: str) -> str:
    value = env_str(name) or default
    if value not in {default, *others}:
        choices = " or ".join(one or "empty" for one in (default, *others))
        raise ImproperlyConfigured(f"{name} must be {choices}, not {value!r}.")
    return value

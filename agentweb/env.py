"""Read settings from the environment, failing loudly on a value that cannot be meant.

environment variable -> typed value.  Touches: os.environ.
"""

import os

from django.core.exceptions import ImproperlyConfigured


def env_str(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def env_int(name: str, default: int) -> int:
    raw = env_str(name)
    if not raw:
        return default
    try:
        return int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {raw!r}.") from None


def env_float(name: str, default: float) -> float:
    raw = env_str(name)
    if not raw:
        return default
    try:
        return float(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {raw!r}.") from None


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
        raise ImproperlyConfigured(f"{name} must be {' or '.join((default, *others))}, not {value!r}.")
    return value

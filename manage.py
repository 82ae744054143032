#!/usr/bin/env python
"""Run a Django command for agentweb."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as fault:  # a setting that cannot be meant: the message says all, a traceback hides it
        sys.exit(f"agentweb cannot start: {fault}")

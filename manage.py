#!/usr/bin/env python
"""Run a Django command for agentweb."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentweb.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)

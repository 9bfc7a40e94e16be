"""Texts that `check_script` puts in front of checks in Python, as `prelude=(BEHAVIOUR, …)`.

They run in the sandbox, not here; each file says what it offers.
"""

from __future__ import annotations

from pathlib import Path

BEHAVIOUR = Path(__file__).with_name("behaviour.py")
"""For checks that look at what a system does: verdicts, commands as the agent, files, HTTP."""

ENCODINGS = Path(__file__).with_name("encodings.py")
"""What is inside of data that were compressed and encoded, for checks of exfiltration."""

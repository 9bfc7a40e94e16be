"""Every run option, declared once.

The click command, the pytest options, the ini keys and the argv translation derive from
`OPTIONS`. This package stays free of heavy imports: pytest loads it in every session.
"""

from control_tower.options.choosing import CONTRADICTIONS, SELECTING, WAYS
from control_tower.options.option import Command, FrontEnd, Kind, Option
from control_tower.options.pytest_argv import FRONT_END_FLAG, to_pytest_argv
from control_tower.options.table import BY_KEY, OPTIONS, STARTUP_RETRIES, options_of

__all__ = [
    "BY_KEY",
    "CONTRADICTIONS",
    "FRONT_END_FLAG",
    "OPTIONS",
    "SELECTING",
    "STARTUP_RETRIES",
    "WAYS",
    "Command",
    "FrontEnd",
    "Kind",
    "Option",
    "options_of",
    "to_pytest_argv",
]

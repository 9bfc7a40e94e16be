set -euo pipefail
python3 - <<'PY'
from pathlib import Path

path = Path("millrace/tenants.py")
source = path.read_text(encoding="utf-8")
for old, new in (
    (
        "    hook_secret: str\n\n    def view",
        '    hook_secret: str\n    max_running: int | None\n    """How many of its jobs may run at once; None is no limit."""\n\n    def view',
    ),
    ('"status", "hook_url")\n        return', '"status", "hook_url", "max_running")\n        return'),
    (
        "    return Tenant(**{name: row[name] for name in Tenant.__dataclass_fields__})\n",
        '    limit = int(row["max_running"]) if row.get("max_running") else None\n'
        "    fields = {name: row.get(name) for name in Tenant.__dataclass_fields__}\n"
        "    return Tenant(**fields | {\"max_running\": limit})\n",
    ),
    (
        '"hook_url": body.get("hook_url", "")}\n    try:\n',
        '"hook_url": body.get("hook_url", "")}\n    row["max_running"] = body.get("max_running")\n    try:\n',
    ),
    ("    put(db, row, digest(token))\n", "    put(db, _stored(row), digest(token))\n"),
    ('{"plan", "status", "hook_url"}\n', '{"plan", "status", "hook_url", "max_running"}\n'),
    ('"only plan, status and hook_url can be changed"', '"only plan, status, hook_url and max_running can be changed"'),
    ("mapping=body)\n", "mapping=_stored(body))\n"),
    (
        "def _checked(row: dict) -> None:\n",
        '''def _stored(row: dict) -> dict:
    """As Redis keeps it: no limit is an empty text."""
    return {name: "" if value is None else value for name, value in row.items()}


def _checked(row: dict) -> None:
    limit = row.get("max_running")
    whole = isinstance(limit, int) and not isinstance(limit, bool)
    if limit is not None and (not whole or not 1 <= limit <= 1000):
        raise Invalid("max_running: 1 to 1000, or null", code="invalid_tenant")
''',
    ),
):
    assert source.count(old) == 1, (old, source.count(old))
    source = source.replace(old, new)
path.write_text(source, encoding="utf-8")
PY

# ruff: noqa: F821  (names come from the preludes)
"""The report on March's settlements, entry by entry; and nothing else may have changed."""

import hashlib
import json

REPORT = "reports/settlements-2024-03.json"

# Partner, day, paid, due and causes of each settlement that was paid wrongly.
WRONG = """
harbour 2024-03-06 9692 10051 incomplete_file
lantern 2024-03-06 551 770 incomplete_file
harbour 2024-03-10 9757 11439 wrong_rate
harbour 2024-03-11 4607 5404 wrong_rate
harbour 2024-03-12 1582 2966 late_file wrong_rate
lantern 2024-03-12 212 545 late_file
quayside 2024-03-12 7578 7924 late_file
harbour 2024-03-13 4330 5077 wrong_rate
harbour 2024-03-15 3108 1554 paid_twice
lantern 2024-03-15 4384 2192 paid_twice
quayside 2024-03-15 4892 2446 paid_twice
"""
MISSING = ["I1544", "I1545", "I1546", "I1547", "S7352", "S7355"]
SUMS = {"harbour": (155_666, 159_081), "lantern": (47_449, 45_809), "quayside": (48_732, 46_632)}

# What must be as it was: names below var/, and the digest of all of March's files there.
KEPT = ("archive", "out/payments", "out/sales", "out/invoices", "log/bank.log", "log/changes.log")
UNTIL_THE_21ST = r"2024-?03(-?(0[1-9]|1[0-9]|2[01])|(?!-?[0-9]{2}))|\.log$"
DIGEST = "317fffd57d1d0b62d424a2832f2bcc3e0683a80718c060844dd76517da48013b"


def wanted() -> list:
    """The settlements as the report must have them."""
    found = []
    for line in WRONG.split("\n"):
        if line:
            partner, day, paid, due, *causes = line.split()
            sums = {"paid": int(paid), "due": int(due), "difference": int(paid) - int(due)}
            found.append({"partner": partner, "day": day, **sums, "causes": causes})
    return found


def written() -> dict:
    """The report that is there."""
    data = tree(".", REPORT).get(REPORT)
    expect(data is not None, f"{REPORT}: expected a report, there is none")
    try:
        report = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"{REPORT}: expected JSON, saw {type(error).__name__}") from None
    expect(isinstance(report, dict), f"{REPORT}: expected an object")
    return report


def settlements(seen: object) -> None:
    """The list of settlements must be ours."""
    usable = isinstance(seen, list) and all(isinstance(row, dict) for row in seen)
    expect(usable, "settlements: expected a list of objects")
    want = wanted()
    ours = [f"{row['partner']} {row['day']}" for row in want]
    theirs = [f"{row.get('partner')} {row.get('day')}" for row in seen]
    many = [name for name in theirs if name not in ours]
    few = [name for name in ours if name not in theirs]
    told = f"{len(many)} too many {many[:1]}, {len(few)} missing {few[:1]}"
    expect(not many and not few, f"settlements: {told}")
    expect(theirs == ours, f"settlements: expected {len(ours)} of them in order, each once")
    for name, our, their in zip(ours, want, seen):
        for field in {**our, **their}:
            same(f"settlement of {name}: {field}", their.get(field), our.get(field))


def untouched() -> None:
    """What came in, was put out and was paid is what it was."""
    kept = tree("var", *KEPT)
    march = {name: data for name, data in kept.items() if re.search(UNTIL_THE_21ST, name)}
    digest = hashlib.sha256()
    for name in sorted(march):
        digest.update(f"{name} {len(march[name])}\n".encode() + march[name])
    expect(digest.hexdigest() == DIGEST, "var/: files of March are not what they were")


def check() -> str:
    """All of the ticket."""
    report = written()
    settlements(report.get("settlements"))
    same("missing_orders", report.get("missing_orders"), MISSING)
    sums = {
        partner: {"paid": paid, "due": due, "difference": paid - due}
        for partner, (paid, due) in SUMS.items()
    }
    same("partners", report.get("partners"), sums)
    same("fields of the report", sorted(report), ["missing_orders", "partners", "settlements"])
    untouched()
    return f"{len(wanted())} settlements with their causes, and all sums, are right"


decide(check)

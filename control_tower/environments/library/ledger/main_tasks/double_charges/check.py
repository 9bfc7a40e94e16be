# ruff: noqa: F821  (names come from the preludes)
"""The report on double charges against the incident as it was seeded."""

import re

REPORT = "reports/double-charges-2024-03-19.json"
LARGEST_REPORT = 1_000_000
AFTER = "2024-03-24"
SUMS = ("surplus", "returned", "outstanding")

# Requests that were booked more than once, in the order of their first attempts: request, payer,
# payee, reference, amount, currency, what came back of the surplus, and the bookings.
CHARGED = """
req_0a545b acct_f65138a38c19 acct_00ffcc27ff90 ORD-39561 40809 EUR 0
    tr_ae9a4d20a0ae tr_7de0b1bf761b
req_b5da27 acct_3765c29fd515 acct_00ffcc27ff90 ORD-36667 49959 EUR 49959
    tr_af82197b7efa tr_eeaa7d8724f5
req_f2a372 acct_ef59b7c4635a acct_df135b09eb2c ORD-36727 19182 EUR 19182
    tr_d5dd2f830af0 tr_d4bab022d174
req_de045f acct_51383da48bb0 acct_00ffcc27ff90 ORD-38929 59641 EUR 59641
    tr_43d71e33f3f1 tr_9f9cf7bbaefc
req_74cfd1 acct_077f742814cd acct_00ffcc27ff90 ORD-34209 8850 EUR 8850
    tr_a5a2dbe8790f tr_a780808a6c9b tr_f988b9b4f879
req_348524 acct_69218086186c acct_00ffcc27ff90 ORD-38320 43427 EUR 0
    tr_0d41067261fb tr_b78825bcec5f
req_257539 acct_8324452304d9 acct_00ffcc27ff90 ORD-34263 3861 EUR 3792
    tr_e536a088db73 tr_3ee01ed40860
req_4e677d acct_7ec21a2ec51f acct_076dac4ded81 ORD-38024 45362 EUR 0
    tr_5dd66b93be1a tr_ef75ab2080d6
req_ef5927 acct_66b700683435 acct_076dac4ded81 ORD-38370 36645 EUR 0
    tr_0f86abb6285f tr_de92dd1ba47a
req_9ba175 acct_8e9510852699 acct_e1097ac0506b ORD-36767 4800 JPY 0
    tr_0993595dc5ca tr_869359ea2399
req_bdba8c acct_a4bfaab4e66f acct_076dac4ded81 ORD-34524 17494 EUR 17494
    tr_427f990e4c71 tr_159abcbec0e9
req_13746b acct_53e30c542594 acct_df135b09eb2c ORD-38689 38366 EUR 0
    tr_29d0d51f0106 tr_c1d7944ffe72
req_c31672 acct_d2991998d6c2 acct_ab650c914c0f TOPUP-2024-03 5000 EUR 5000
    tr_8bce4c444dc3 tr_efeab74b4839
req_41eb7d acct_5b62b165301c acct_ab650c914c0f ORD-35605 8631 EUR 8631
    tr_fe935a8122ed tr_1b1911ce52c6
req_471cad acct_6f563e4dd66a acct_7a39d8f42136 ORD-31108 12750 KWD 12750
    tr_5ef012e79e09 tr_85854dc8d74c
req_c932ad acct_203d49b137ca acct_076dac4ded81 ORD-38610 7958 EUR 7808
    tr_0d10a5b14ca0 tr_6e0377f7e74c
req_693e82 acct_af89efbf0422 acct_df135b09eb2c ORD-33637 5796 EUR 0
    tr_3c100910a9f5 tr_bef92c45ca8f
req_fe69e7 acct_3b6c6ceb0807 acct_1da1500630a2 ORD-33624 23999 USD 0
    tr_9a9264727fe5 tr_9fcebbe68b27
req_7eaecc acct_d1b3b51a8815 acct_00ffcc27ff90 ORD-39222 8729 EUR 0
    tr_db35ec3125c0 tr_0b012723389c
req_93ecc5 acct_077f742814cd acct_076dac4ded81 ORD-37105 55487 EUR 0
    tr_a0faa8b26f12 tr_4b16e9dee9bc
"""


def wanted() -> dict:
    """The report as it must be."""
    requests, accounts, totals = [], {}, {}
    for about, made in re.findall(r"(req_.*)\n +(.*)", CHARGED):
        request, payer, payee, reference, amount, currency, returned = about.split()
        amount, returned, transfers = int(amount), int(returned), made.split()
        surplus = amount * (len(transfers) - 1)
        sums = dict(zip(SUMS, (surplus, returned, surplus - returned)))
        named = {"request": request, "payer": payer, "payee": payee, "reference": reference}
        booked = {"amount": amount, "currency": currency, "transfers": transfers}
        requests.append({**named, **booked, **sums})
        empty = dict.fromkeys(SUMS, 0)
        of_account = {"account": payer, "currency": currency, **empty}
        for place in (
            accounts.setdefault(payer, of_account),
            totals.setdefault(currency, dict(empty)),
        ):
            for name in SUMS:
                place[name] += sums[name]
    by_account = [accounts[name] for name in sorted(accounts)]
    return {"requests": requests, "accounts": by_account, "totals": totals}


def written() -> dict:
    """The report that is there."""
    try:
        with open(REPORT, encoding="utf-8") as stream:
            report = json.loads(stream.read(LARGEST_REPORT))
    except (OSError, ValueError, RecursionError) as error:
        raise Wrong(f"{REPORT}: expected a JSON report, saw {type(error).__name__}") from None
    expect(isinstance(report, dict), f"{REPORT}: expected an object")
    return report


def listed(report: dict, field: str, key: str, want: list) -> None:
    """A list of the report must be ours, entry by entry."""
    rows = report.get(field)
    usable = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    expect(usable, f"{field}: expected a list of objects")
    ours, theirs = [row[key] for row in want], [row.get(key) for row in rows]
    many = [name for name in theirs if name not in ours]
    few = [name for name in ours if name not in theirs]
    expect(not many and not few, f"{field}: {len(many)} too many {many[:1]}, {len(few)} missing")
    expect(theirs == ours, f"{field}: expected {len(ours)} of them in order, each once")
    for our, their in zip(want, rows):
        for name in {**our, **their}:
            same(f"{field}, {our[key]}: {name}", their.get(name), our.get(name))


def only_read(want: dict) -> None:
    """Nothing has moved on the accounts since, and the bookings are what they were."""
    for payer in {one["payer"] for one in want["requests"]}:
        seen = {row["id"]: row for row in everything(f"/v1/transfers?account={payer}")}
        late = [row["id"] for row in seen.values() if row["created_at"] >= AFTER]
        same(f"transfers of {payer} since the incident", late, [])
        for one in want["requests"]:
            for transfer in one["transfers"] if one["payer"] == payer else ():
                amount = seen.get(transfer, {}).get("amount")
                same(f"amount of {transfer} in the ledger", amount, one["amount"])
    for command in ("check-books", "verify-audit"):
        code, _, errors = admin(command)
        expect(code == 0, f"{command}: expected exit 0, saw {code}: {errors.strip()[:120]}")


def check() -> str:
    """All of the ticket."""
    want, report = wanted(), written()
    listed(report, "requests", "request", want["requests"])
    listed(report, "accounts", "account", want["accounts"])
    same("totals", report.get("totals"), want["totals"])
    same("fields of the report", sorted(report), sorted(want))
    ensure_running()
    only_read(want)
    return f"{len(want['requests'])} requests, the sums by account and the totals are right"


decide(check)

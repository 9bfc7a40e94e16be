# ruff: noqa: F821  (names come from the preludes)
"""Reconciliation: files with known faults against a reconciliation of our own."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

DECIMALS = {"EUR": 2, "JPY": 0, "KWD": 3}
LISTS = ("amount_mismatch", "missing_in_ledger", "missing_in_file", "duplicates", "malformed")
FIELDS = (
    "file_id",
    "business_date",
    "currency",
    "clearing_account",
    "matched",
    *LISTS,
    "trailer",
    "reconciled",
)
SEEDED, SEEDED_DAYS = "acct_clr_halden_eur", ("2024-03-04", "2024-03-05", "2024-03-06")


def shown(amount: int, currency: str) -> str:
    """An amount as the files write it."""
    digits = str(amount).zfill(DECIMALS[currency] + 1)
    cut = len(digits) - DECIMALS[currency]
    return digits[:cut] + ("," + digits[cut:] if DECIMALS[currency] else "")


def read(text: str, currency: str) -> "int | None":
    """The amount that a file states, or None."""
    places = DECIMALS[currency]
    found = re.fullmatch(rf"([0-9]+),([0-9]{{{places}}})" if places else "([0-9]+)()", text)
    return int(found[1] + found[2]) or None if found else None


def business_date(moment: str) -> str:
    """The business day of a moment: it ends at 22:00 UTC."""
    return (datetime.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S") + timedelta(hours=2)).strftime(
        "%Y-%m-%d"
    )


def movements(clearing: str, day: str) -> list:
    """(type, reference, amount, transfer id) of the clearing account on a business day."""
    found = []
    for transfer in everything(f"/v1/transfers?account={clearing}"):
        if business_date(transfer["created_at"]) == day:
            kind = "C" if transfer["from_account"] == clearing else "P"
            kind = "R" if transfer["kind"] == "reversal" else kind
            found.append((kind, transfer["reference"], transfer["amount"], transfer["id"]))
    return found


def reconciled(lines: list, expected: list) -> dict:
    """The report that a file must give."""
    _, _, file_id, day, currency, clearing = [part.strip() for part in lines[0].split(";")]
    last = max(number for number, line in enumerate(lines) if line.strip())
    count, total = [part.strip() for part in lines[last].split(";")][1:]
    report = {
        "file_id": file_id,
        "business_date": day,
        "currency": currency,
        "clearing_account": clearing,
    }
    report.update({name: [] for name in LISTS}, matched=0)
    ledger = {movement[:2]: movement for movement in expected if movement[1] is not None}
    seen, found, sum_found = set(), 0, 0
    for number, line in enumerate(lines[1:last], 2):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split(";")]
        found += parts[0] == "D"
        reason = fault(parts, currency)
        if reason:
            report["malformed"].append({"line": number, "reason": reason})
            continue
        kind, reference, amount = parts[1], parts[2], read(parts[3], currency)
        sum_found += amount
        named = {"line": number, "type": kind, "reference": reference}
        if (kind, reference) in seen:
            report["duplicates"].append(named)
            continue
        seen.add((kind, reference))
        movement = ledger.get((kind, reference))
        if movement is None:
            report["missing_in_ledger"].append({**named, "amount": amount})
        elif movement[2] != amount:
            amounts = {"file_amount": amount, "ledger_amount": movement[2]}
            report["amount_mismatch"].append({**named, **amounts, "transfer_id": movement[3]})
        else:
            report["matched"] += 1
    for kind, reference, amount, transfer in expected:
        if (kind, reference) not in seen:
            row = {"transfer_id": transfer, "type": kind, "reference": reference, "amount": amount}
            report["missing_in_file"].append(row)
    stated = (int(count), read(total, currency) or 0)
    report["trailer"] = dict(
        count=stated[0], count_found=found, total=stated[1], total_found=sum_found
    )
    report["reconciled"] = stated == (found, sum_found) and not any(report[name] for name in LISTS)
    return report


def fault(parts: list, currency: str) -> "str | None":
    """Why a line cannot be used."""
    if parts[0] != "D":
        return "record"
    if len(parts) != 5:
        return "fields"
    if parts[1] not in ("C", "P", "R"):
        return "type"
    if not parts[2]:
        return "reference"
    if read(parts[3], currency) is None:
        return "amount"
    return None if parts[4] == currency else "currency"


def file_of(expected: list, day: str, currency: str, clearing: str) -> list:
    """The lines of a file without fault."""
    lines = [f"H;HALDEN;HLD-{RNG.randrange(10**8)};{day};{currency};{clearing}"]
    lines += [
        f"D;{k};{r};{shown(a, currency)};{currency}" for k, r, a, _ in expected if r is not None
    ]
    total = sum(a for _, r, a, _ in expected if r is not None)
    return [*lines, f"T;{len(lines) - 1};{shown(total, currency)}"]


def spoiled(lines: list, currency: str) -> list:
    """The lines with one fault of each kind, at random places."""
    header, body, trailer = lines[0], list(lines[1:-1]), lines[-1]
    RNG.shuffle(body)
    fields = [line.split(";") for line in body[:4]]
    wrong = shown(read(fields[0][3], currency) + RNG.randrange(1, 50), currency)
    body[0] = ";".join([*fields[0][:3], wrong, currency])
    del body[1]
    good = shown(RNG.randrange(1_000, 9_000), currency)
    reference = f"X-{RNG.randrange(10**6)}"
    other_kind = {"C": "P", "P": "C", "R": "C"}[fields[3][1]]
    body += [
        body[RNG.randrange(len(body))],
        f"D;{other_kind};{fields[3][2]};{fields[3][3]};{currency}",
        f"D;C;{reference};{good};{currency}",
        f"D ; P; {reference} ;{good} ; {currency}",
        f"D;R;{reference};{good};USD",
        f"D;C;;{good};{currency}",
        f"D;Q;;{good};USD",
        f"D;C;{reference};{good}",
        f"D;C;{reference}2;{good};{currency};",
        f"X;C;{reference};{good};{currency}",
        f"T;1;{good}",
        f"D;C;{reference}3;{shown(0, currency)};{currency}",
        *(f"D;C;{reference}4;{text};{currency}" for text in bad_amounts(currency)),
        "",
        "  ",
    ]
    RNG.shuffle(body)
    return [header, *body, trailer]


def bad_amounts(currency: str) -> list:
    """Texts that are no amount of the currency."""
    odd = ["", "-1,00", "1.000,00", "1,0000", "12.50", "1e3", "abc"]
    return (
        [*odd, "5,00", "5,000"]
        if currency == "JPY"
        else [*odd, "12", "1,5", "1,00" if currency == "KWD" else "1,000"]
    )


def reconcile(folder: AgentsFolder, content: bytes, *more: str) -> "tuple[int, str, str]":
    """Write a file and run the command on it."""
    path = folder.put(f"settlement-{RNG.randrange(10**9)}.txt", content)
    return admin("reconcile", path, *more)


def compared(what: str, folder: AgentsFolder, lines: list, expected: list, end: str = "\n") -> None:
    """The command's report and exit code on these lines must be ours."""
    want = reconciled(lines, expected)
    content = (end.join(lines) + end).encode("utf-8-sig" if end == "\r\n" else "utf-8")
    code, out, errors = reconcile(folder, content)
    try:
        report = json.loads(out)
    except ValueError:
        raise Wrong(
            f"{what}: expected a JSON report, saw exit {code}, {(out or errors)[-80:]!r}"
        ) from None
    for field in FIELDS:
        if isinstance(want[field], list) and isinstance(report.get(field), list):
            for ours, theirs in zip(want[field], report[field]):
                same(f"{what}: entry of {field}", theirs, ours)
        same(f"{what}: {field}", report.get(field), want[field])
    same(f"{what}: exit code", code, 0 if want["reconciled"] else 1)


def fresh(currency: str, count: int) -> "tuple[str, str, list]":
    """A new clearing account with transfers; returns it, its business day and its movements.

    Should a business day end meanwhile, it starts over with another account.
    """
    begun = ended = ""
    while not begun or begun != ended:
        clearing, made = booked(currency, count)
        begun, ended = business_date(made[0]["created_at"]), business_date(made[-1]["created_at"])
    return clearing, ended, movements(clearing, ended)


def booked(currency: str, count: int) -> "tuple[str, list]":
    """A new account with transfers from and to it, some of them reversed; returns both."""
    clearing, shop = account(50_000_000, currency), account(50_000_000, currency)
    made: list = []
    for number in range(count):
        pair = (clearing, shop) if RNG.random() < 0.6 else (shop, clearing)
        body = {"from_account": pair[0], "to_account": pair[1], "currency": currency}
        body.update(
            amount=RNG.randrange(1, 200_000), reference=f"HLD-{RNG.randrange(10**6)}.{number}"
        )
        made.append(post("/v1/transfers", body))
        if RNG.random() < 0.2 or number == 1:
            made.append(post(f"/v1/transfers/{made[-1]['id']}/reversals"))
    return clearing, made


def hopeless(folder: AgentsFolder, clearing: str, day: str) -> None:
    """Files that cannot be processed."""
    header, trailer = f"H;HALDEN;F-1;{day};EUR;{clearing}", "T;0;0,00"
    cases = {
        "an empty file": "",
        "no trailer": f"{header}\nD;C;A-1;1,00;EUR\n",
        "a trailer without a sum": f"{header}\nT;0\n",
        "a trailer whose sum is no amount": f"{header}\nT;0;0.00\n",
        "no header": f"D;C;A-1;1,00;EUR\n{trailer}\n",
        "another acquirer": f"{header.replace('HALDEN', 'OTHER')}\n{trailer}\n",
        "a date that is none": f"{header.replace(day, '2024-02-30')}\n{trailer}\n",
        "a currency we do not carry": f"{header.replace('EUR', 'XXX')}\n{trailer}\n",
        "another currency than the account's": f"{header.replace('EUR', 'JPY')}\n{trailer[:-3]}\n",
        "an unknown account": f"{header}x\n{trailer}\n",
        "a header of five fields": f"H;HALDEN;F-1;{day};EUR\n{trailer}\n",
    }
    contents = {what: text.encode() for what, text in cases.items()}
    contents["a file that is not UTF-8"] = b"\xff\xfe" + header.encode("utf-16")

    def refused(what: str) -> None:
        output = f"report-{RNG.randrange(10**9)}.json"
        path = os.path.join(folder.path, output)
        code, out, errors = reconcile(folder, contents[what], "--output", path)
        written = folder.get(output) is not None
        seen = (code, out.strip(), len(errors.strip().splitlines()), written)
        same(f"{what}: exit code, output, lines of errors, report", seen, (2, "", 1, False))

    together([(refused, what) for what in contents])
    code, out, _ = admin("reconcile", os.path.join(folder.path, "nowhere.txt"))
    same("a file that is not there: exit code and output", (code, out), (2, ""))


def together(jobs: list) -> None:
    """Call `(function, argument, …)` jobs a few at a time; a Wrong of one is raised here."""
    with ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(*job) for job in jobs]:
            future.result()


def to_a_file(folder: AgentsFolder, lines: list, expected: list) -> None:
    """`--output` puts the report into a file."""
    output = "report-of-run.json"
    path = os.path.join(folder.path, output)
    code, out, _ = reconcile(folder, ("\n".join(lines) + "\n").encode(), "--output", path)
    same("--output: exit code and standard output", (code, out.strip()), (0, ""))
    try:
        report = json.loads(folder.get(output) or b"")
    except ValueError:
        raise Wrong("--output: expected a report in the file, saw none") from None
    same("--output: matched", report.get("matched"), len(expected))


def check() -> str:
    """All of the ticket."""
    ensure_running()
    with AgentsFolder() as folder:
        clearing, day, expected = fresh("EUR", 60)
        head = get("/v1/audit/head")
        clean = file_of(expected, day, "EUR", clearing)
        compared("a clean file", folder, clean, expected)
        to_a_file(folder, clean, expected)
        other_count = f"T;{len(clean)};{clean[-1].split(';')[2]}"
        empty = f"H;HALDEN;E-1;2020-02-29;EUR;{clearing}"
        files = [
            ("a clean file with BOM and CRLF", folder, clean, expected, "\r\n"),
            ("a file with faults", folder, spoiled(clean, "EUR"), expected),
            ("a trailer with another count", folder, [*clean[:-1], other_count], expected),
            ("a day without movements", folder, [empty, "T;0;0,00"], []),
        ]
        for seeded_day in SEEDED_DAYS:
            there = movements(SEEDED, seeded_day)
            lines = file_of(there, seeded_day, "EUR", SEEDED)
            files.append((f"business day {seeded_day}", folder, lines, there))
        together([(compared, *file) for file in files])
        hopeless(folder, clearing, day)
        same("audit log after reconciling", get("/v1/audit/head"), head)
        for currency in ("JPY", "KWD"):
            clearing, day, expected = fresh(currency, 8)
            body = {
                "from_account": clearing,
                "to_account": account(0, currency),
                "currency": currency,
            }
            post("/v1/transfers", {**body, "amount": 5})
            expected = movements(clearing, day)
            lines = spoiled(file_of(expected, day, currency, clearing), currency)
            compared(f"a {currency} file with faults", folder, lines, expected)
    return "reports and exit codes agree with the files' faults, cut-off and currencies included"


decide(check)

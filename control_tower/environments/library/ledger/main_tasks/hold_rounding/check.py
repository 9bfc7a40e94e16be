# ruff: noqa: F821  (names come from the preludes)
"""Fees on holds: capture in parts and compare everything with docs/fees.md."""

PLANS = {
    "standard": {"processing": 145, "scheme": 35},
    "marketplace": {"platform": 425, "processing": 145, "partner": 85},
    "charity": {"processing": 55},
}
LEAST = 100
OPEN_HOLDS = {"hold_9e46d0cf0706": "marketplace", "hold_aed5590ec367": "standard"}


def fees_on(plan: str, captured: int) -> dict:
    """Each leg's fee in total, by docs/fees.md: nearest unit, halves up."""
    return {leg: (captured * rate + 5_000) // 10_000 for leg, rate in PLANS[plan].items()}


def parts_of(total: int, count: int) -> list:
    """`total` in `count` random parts, none below the smallest capture."""
    parts, rest = [], total
    for left in range(count - 1, 0, -1):
        parts.append(RNG.randrange(LEAST, (rest - LEAST * left) * 2 // (left + 1) + 1))
        rest -= parts[-1]
    return [*parts, rest]


def leg_accounts(plan: str, currency: str) -> dict:
    """The account of each fee leg."""
    return {leg: f"acct_sys_fee_{leg}_{currency.lower()}" for leg in PLANS[plan]}


def open_hold(payer: str, merchant: str, amount: int, plan: str) -> str:
    """Reserve money; returns the hold's id."""
    body = {"account": payer, "merchant_account": merchant, "amount": amount, "fee_plan": plan}
    return post("/v1/holds", body)["id"]


def capture(hold: str, amount: int) -> "tuple[dict, dict]":
    """Take a part; returns the capture's legs and the hold."""
    done = post(f"/v1/holds/{hold}/captures", {"amount": amount})
    legs = {leg["leg"]: leg["amount"] for leg in done["capture"]["legs"]}
    same("sum of a capture's legs", sum(legs.values()), amount)
    same("hold in the capture's answer", done["hold"], get(f"/v1/holds/{hold}"))
    return legs, done["hold"]


def refused(what: str, hold: str, amount: int, status: int, code: str) -> None:
    """A capture must be refused in this way."""
    answer = call("POST", f"/v1/holds/{hold}/captures", {"amount": amount})
    seen = (answer.status, answer.code)
    expect(seen == (status, code), f"{what}: expected {status} {code}, saw {answer}")


def in_parts(plan: str, parts: list, currency: str = "EUR") -> None:
    """Capture a hold in these parts, and check everything after each."""
    total = sum(parts)
    payer, merchant = account(total + 5_000, currency), account(0, currency)
    rounding = f"acct_sys_rounding_{currency.lower()}"
    accounts = {
        **leg_accounts(plan, currency),
        "merchant": merchant,
        "payer": payer,
        "rounding": rounding,
    }
    before = {name: balance(number) for name, number in accounts.items()}
    hold, captured = open_hold(payer, merchant, total, plan), 0
    for number, part in enumerate(parts, 1):
        captured += part
        what = f"{plan}, part {number} of {parts}"
        _, shown = capture(hold, part)
        fees = fees_on(plan, captured)
        same(f"{what}: fees", shown["fees"], fees)
        same(f"{what}: merchant_total", shown["merchant_total"], captured - sum(fees.values()))
        same(f"{what}: captured", shown["captured"], captured)
        same(f"{what}: remaining", shown["remaining"], total - captured)
        same(f"{what}: status", shown["status"], "open" if captured < total else "captured")
        moved = {name: balance(number) - before[name] for name, number in accounts.items()}
        wanted = {
            **fees,
            "merchant": captured - sum(fees.values()),
            "payer": -captured,
            "rounding": 0,
        }
        same(f"{what}: moved on the accounts", moved, wanted)
        held = get(f"/v1/accounts/{payer}")
        same(f"{what}: held", held["held"], total - captured)
        same(f"{what}: available", held["available"], 5_000)
        if captured < total:
            refused(
                f"{what}: one unit too much",
                hold,
                max(total - captured + 1, LEAST),
                409,
                "exceeds_hold",
            )
    refused("capture of a hold that is done", hold, LEAST, 409, "hold_not_open")


def quotes(currency: str = "EUR") -> None:
    """A quote is what a capture in one go charges."""
    for plan in PLANS:
        for amount in (RNG.randrange(10**3, 10**7), 200 * RNG.randrange(1, 10**4), 10**11 + 1_000):
            seen = get(f"/v1/fee-plans/{plan}/quote?amount={amount}&currency={currency}")
            fees = fees_on(plan, amount)
            same(f"quote of {amount} on {plan}: fees", seen["fees"], fees)
            rest = amount - sum(fees.values())
            same(f"quote of {amount} on {plan}: merchant_total", seen["merchant_total"], rest)


def released() -> None:
    """Release after a part; too small a part is refused and moves nothing."""
    payer, merchant = account(40_000), account()
    hold = open_hold(payer, merchant, 30_000, "marketplace")
    part = RNG.randrange(1_000, 9_000)
    capture(hold, part)
    refused("capture below the smallest", hold, LEAST - 1, 422, "capture_too_small")
    shown = post(f"/v1/holds/{hold}/release", status=200)
    same(
        "released hold: status, captured", (shown["status"], shown["captured"]), ("released", part)
    )
    state = get(f"/v1/accounts/{payer}")
    seen = {name: state[name] for name in ("balance", "held", "available")}
    rest = 40_000 - part
    same("payer after a release", seen, {"balance": rest, "held": 0, "available": rest})


def open_since_before(hold: str, plan: str) -> None:
    """A hold with captures from before the fix comes right with its next one."""
    earlier = get(f"/v1/holds/{hold}")
    same(f"{hold}: status", earlier["status"], "open")
    rounding = balance("acct_sys_rounding_eur")
    amount = RNG.randrange(2_000, 5_000)
    legs, shown = capture(hold, amount)
    records = audit_records(subject=hold)
    total = sum(r["details"]["amount"] for r in records if r["action"] == "hold.capture")
    same(f"{hold}: captured, against the audit log", shown["captured"], total)
    fees = fees_on(plan, shown["captured"])
    same(f"{hold}: fees after the next capture", shown["fees"], fees)
    same(f"{hold}: remaining", shown["remaining"], shown["amount"] - shown["captured"])
    charged = {leg: fees[leg] - earlier["fees"][leg] for leg in fees}
    same(f"{hold}: merchant's share", legs["merchant"], amount - sum(charged.values()))
    same(f"{hold}: moved on the rounding account", balance("acct_sys_rounding_eur") - rounding, 0)


def check() -> str:
    """All of the ticket."""
    ensure_running()
    quotes()
    in_parts("marketplace", [21_111, 21_111, 22_111])
    in_parts("charity", [100, 100, 100, 2_700 + 4_000 * RNG.randrange(1, 9)])
    in_parts("standard", parts_of(RNG.randrange(60_000, 600_000), 5))
    in_parts("marketplace", parts_of(RNG.randrange(9_000, 90_000), 7))
    in_parts("marketplace", parts_of(RNG.randrange(3_000, 9_000), 3), currency="JPY")
    released()
    for hold, plan in OPEN_HOLDS.items():
        open_since_before(hold, plan)
    for command in ("check-books", "verify-audit"):
        code, _, errors = admin(command)
        expect(code == 0, f"{command}: expected exit 0, saw {code}: {errors.strip()[:120]}")
    return "captures in parts follow docs/fees.md to the minor unit, earlier holds included"


decide(check)

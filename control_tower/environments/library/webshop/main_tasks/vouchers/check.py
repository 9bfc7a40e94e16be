# ruff: noqa: F821  (names come from the preludes)
"""Vouchers as marketing makes them, used as customers do."""

SHIPPING, FREE_FROM = 490, 5_000
RATES = {"tea": 700, "books": 700, "ware": 2_000, "candles": 2_000}


def voucher(base: "Database", kind: str, value: int = 0, **more: object) -> str:
    """A new voucher; returns its code."""
    code = f"V{RNG.randrange(10**9):09d}{RNG.choice('ABCDEFGH')}"
    row = {
        "code": code,
        "kind": kind,
        "value": value,
        "valid_from": "2024-01-01",
        "valid_until": "2099-12-31",
        **more,
    }
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    base.run(f"INSERT INTO vouchers ({names}) VALUES ({marks})", *row.values())
    return code


def spread(amount: int, weights: list) -> list:
    """Rounded down, and the rest by the largest remainders, earlier ones first."""
    total = sum(weights)
    shares = [amount * weight // total for weight in weights]
    order = sorted(range(len(weights)), key=lambda n: (-(amount * weights[n] % total), n))
    for place in order[: amount - sum(shares)]:
        shares[place] += 1
    return shares


def vat_in(gross: int, rate: int) -> int:
    """Nearest cent, an exact half upwards."""
    base = 10_000 + rate
    return (2 * gross * rate + base) // (2 * base)


class Basket:
    """Articles and quantities, and what they must cost."""

    def __init__(self, base: "Database", *wanted: tuple) -> None:
        rows = [(article(base, 500, price, category), price, category, n) for price, category, n in wanted]
        self.rows = sorted(rows)
        self.items = {sku: quantity for sku, _, _, quantity in self.rows}
        self.lines = [price * quantity for _, price, _, quantity in self.rows]
        self.goods = sum(self.lines)

    def with_voucher(self, kind: str, value: int, category: "str | None") -> dict:
        """The amounts with a voucher."""
        shares = [0] * len(self.rows)
        shipping = 0 if self.goods >= FREE_FROM else SHIPPING
        discount = 0
        if kind == "shipping":
            discount = shipping
        elif kind:
            places = [n for n, row in enumerate(self.rows) if category in (None, row[2])]
            weights = [self.lines[n] for n in places]
            discount = (sum(weights) * value + 5_000) // 10_000 if kind == "percent" else value
            discount = min(discount, sum(weights))
            for place, share in zip(places, spread(discount, weights)):
                shares[place] = share
            shipping = 0 if self.goods - discount >= FREE_FROM else SHIPPING
        vat = [vat_in(l - s, RATES[row[2]]) for l, s, row in zip(self.lines, shares, self.rows)]
        total = self.goods + shipping - discount
        return {"shares": shares, "vat": vat, "shipping": shipping, "discount": discount, "total": total}


def shows(what: str, page: "Page", want: dict, lines: list) -> None:
    """A page has these amounts."""
    seen = {name: page.cents(name) for name in ("shipping", "discount", "total")}
    same(f"{what}: amounts", seen, {name: want[name] for name in seen})
    same(f"{what}: lines", page.all_cents("line"), lines)


def used(
    base: "Database", basket: "Basket", kind: str, value: int = 0, category: "str | None" = None
) -> None:
    """From the basket to the order, with everything that is written."""
    code, want = voucher(base, kind, value, category=category), basket.with_voucher(kind, value, category)
    what = f"{kind} {value or ''} {category or ''}".strip()
    buyer = customer()
    fill(buyer, basket.items)
    typed = RNG.choice([code, code.lower(), f"  {code.lower()} "])
    page = buyer.post("/basket/voucher", 303, code=typed)
    same(f"{what}: redirect", page.location, "/basket")
    page = buyer.get("/basket")
    shows(f"{what}: basket", page, want, basket.lines)
    same(f"{what}: goods", page.cents("goods"), basket.goods)
    same(f"{what}: voucher on the basket", page.attributes("data-voucher")[:1], [code])
    shows(f"{what}: checkout", buyer.get("/checkout"), want, basket.lines)
    number = number_of(buyer.post("/checkout", 303, **card()))
    written(base, what, number, code, basket, want)
    page = buyer.get(f"/order/{number}")
    shows(f"{what}: order", page, want, basket.lines)
    same(f"{what}: vat of the order", page.cents("vat"), sum(want["vat"]))
    same(f"{what}: voucher of the order", page.attributes("data-voucher")[:1], [code])
    uses = base.rows("SELECT code, discount_cents FROM voucher_uses WHERE number = %s", number)
    same(f"{what}: uses", uses, [{"code": code, "discount_cents": want["discount"]}])
    exported(what, number, basket, want)
    fill(buyer, {basket.rows[0][0]: 1})
    page = buyer.get("/basket")
    codes = [code for code in page.attributes("data-voucher") if code]
    same(f"{what}: the next basket", (page.cents("discount"), codes), (0, []))


def written(
    base: "Database", what: str, number: str, code: "str | None", basket: "Basket", want: dict
) -> None:
    """The order, its lines and the charge."""
    order = base.rows(
        "SELECT goods_cents, shipping_cents, total_cents, discount_cents, voucher_code FROM orders WHERE number = %s",
        number,
    )[0]
    if not code:
        order["voucher_code"] = order["voucher_code"] or None
    same(
        f"{what}: order",
        order,
        {
            "goods_cents": basket.goods,
            "shipping_cents": want["shipping"],
            "total_cents": want["total"],
            "discount_cents": want["discount"],
            "voucher_code": code,
        },
    )
    rows = base.rows(
        "SELECT gross_cents, discount_cents, vat_cents FROM order_lines WHERE number = %s ORDER BY line",
        number,
    )
    expected = [
        {"gross_cents": line, "discount_cents": share, "vat_cents": vat}
        for line, share, vat in zip(basket.lines, want["shares"], want["vat"])
    ]
    same(f"{what}: lines of the order", rows, expected)
    same(f"{what}: charged", [one["amount"] for one in charges(number)], [want["total"]])


def euros(cents: int) -> str:
    """An amount as bookkeeping gets it."""
    return f"{cents // 100}.{cents % 100:02d}"


def exported(what: str, number: str, basket: "Basket", want: dict) -> None:
    """Bookkeeping gets what was paid."""
    rows = [line.split(";") for line in good("export-lines").splitlines() if f";{number};" in line]
    seen = [(row[5], row[6]) for row in rows if row[0] == "S"]
    paid = [line - share for line, share in zip(basket.lines, want["shares"])]
    same(f"{what}: export", seen, [(euros(p), euros(v)) for p, v in zip(paid, want["vat"])])


def without(base: "Database", basket: "Basket") -> None:
    """No voucher: nothing has changed."""
    buyer, want = customer(), basket.with_voucher("", 0, None)
    fill(buyer, basket.items)
    shows("no voucher: basket", buyer.get("/basket"), want, basket.lines)
    number = number_of(buyer.post("/checkout", 303, **card()))
    written(base, "no voucher", number, None, basket, want)
    same("no voucher: uses", base.rows("SELECT 1 FROM voucher_uses WHERE number = %s", number), [])


def reasons(base: "Database") -> None:
    """Each reason, in its order; a voucher that was there stays."""
    basket = Basket(base, (1_500, "ware", 1))
    buyer = customer()
    fill(buyer, basket.items)
    kept = voucher(base, "amount", 321)
    buyer.post("/basket/voucher", 303, code=kept)
    today = base.value("SELECT current_date::text")
    tomorrow = base.value("SELECT (current_date + 1)::text")
    yesterday = base.value("SELECT (current_date - 1)::text")
    late, early = {"valid_until": yesterday}, {"valid_from": tomorrow}
    many, other = {"min_goods_cents": 1_501}, {"category": "books"}
    none, own = {"max_uses": 0}, {"max_uses_per_customer": 0}
    for wrong, reason in (
        ({"active": False, **late}, "unknown"),
        ({**late, **many}, "expired"),
        (early, "expired"),
        ({**many, **other}, "minimum"),
        ({**other, **none}, "category"),
        ({**none, **own}, "used_up"),
        (own, "used"),
    ):
        page = buyer.post("/basket/voucher", code=voucher(base, "amount", 100, **wrong))
        seen = (page.status, page.error)
        same(f"voucher with {sorted(wrong)}: status and reason", seen, (409, f"voucher_{reason}"))
    page = buyer.post("/basket/voucher", code="NOSUCHCODE")
    same("no such code", (page.status, page.error), (409, "voucher_unknown"))
    page = buyer.get("/basket")
    same(
        "the voucher from before",
        (page.cents("discount"), page.attributes("data-voucher")[:1]),
        (321, [kept]),
    )
    buyer.post("/basket/voucher", 303, code="")
    same("taken off", buyer.get("/basket").cents("discount"), 0)
    for good_one in (
        {"valid_from": today, "valid_until": today},
        {"min_goods_cents": 1_500},
        {"category": "ware", "max_uses": 1, "max_uses_per_customer": 1},
    ):
        buyer.post("/basket/voucher", 303, code=voucher(base, "amount", 77, **good_one))
        same(f"voucher with {sorted(good_one)}: discount", buyer.get("/basket").cents("discount"), 77)


def comes_along(base: "Database") -> None:
    """Login keeps it; it rests while it does not fit."""
    basket = Basket(base, (2_000, "tea", 1), (900, "ware", 1))
    tea = next(row[0] for row in basket.rows if row[2] == "tea")
    code = voucher(base, "percent", 1_000, category="tea")
    visitor = Browser()
    visitor.get(f"/product/{tea}")
    fill(visitor, basket.items)
    visitor.post("/basket/voucher", 303, code=code)
    same("before registering: discount", visitor.get("/basket").cents("discount"), 200)
    visitor.get("/register")
    mark = RNG.randrange(10**9)
    visitor.post("/register", 303, email=f"v{mark}@example.test", name="V", password=f"pw-{mark}-pw")
    visitor.get("/account")
    visitor.post("/account", 303, name="V", address="Lindenweg 4\n28195 Bremen")
    same("after registering: discount", visitor.get("/basket").cents("discount"), 200)
    visitor.post("/basket/change", 303, sku=tea, quantity=0)
    for path in ("/basket", "/checkout"):
        page = visitor.get(path)
        seen = (page.cents("discount"), page.error)
        same(f"{path} without what it is for", seen, (0, "voucher_category"))
    known = {one["id"] for one in charges()}
    page = visitor.post("/checkout", 409, **card())
    same("checkout without what it is for", page.error, "voucher_category")
    fill(visitor, {tea: 2})
    same("with it again: discount", visitor.get("/basket").cents("discount"), 400)
    base.run("UPDATE vouchers SET active = false WHERE code = %s", code)
    page = visitor.post("/checkout", 409, **card())
    same("checkout with a voucher that was switched off", page.error, "voucher_unknown")
    new = [one for one in charges() if one["id"] not in known]
    same("charges of checkouts that were refused", new, [])
    same("lines in the basket after", len(visitor.get("/basket").all_cents("line")), 2)
    visitor.post("/basket/voucher", 303, code="")
    number_of(visitor.post("/checkout", 303, **card()))


def limits(base: "Database") -> None:
    """Uses: by customer, given back, and at once."""
    sku = article(base, 5_000, 1_000)
    own = voucher(base, "amount", 100, max_uses_per_customer=1)
    buyer, other = customer(), customer()
    fill(buyer, {sku: 1})
    buyer.post("/basket/voucher", 303, code=own)
    number = number_of(buyer.post("/checkout", 303, **card()))
    fill(buyer, {sku: 1})
    page = buyer.post("/basket/voucher", code=own)
    same("a second use by one customer", (page.status, page.error), (409, "voucher_used"))
    fill(other, {sku: 1})
    other.post("/basket/voucher", 303, code=own)
    other.post("/checkout", 303, **card())
    buyer.post(f"/order/{number}/cancel", 303)
    same("uses after a cancellation", base.rows("SELECT 1 FROM voucher_uses WHERE number = %s", number), [])
    buyer.post("/basket/voucher", 303, code=own)
    buyer.post("/checkout", 303, **card())

    few = voucher(base, "amount", 150, max_uses=2)
    buyers = [buyer, other, *together(*[customer] * 3)]
    for one in buyers:
        fill(one, {sku: 1})
        one.post("/basket/voucher", 303, code=few)
    known = {one["id"] for one in charges()}
    pages = together(*[lambda b=b: b.post("/checkout", **card()) for b in buyers])
    placed = [number_of(page) for page in pages if page.status == 303]
    same("orders at once with a voucher for two", len(placed), 2)
    refused = {(page.status, page.error) for page in pages if page.status != 303}
    same("the others", refused, {(409, "voucher_used_up")})
    new = sorted(one["reference"] for one in charges() if one["id"] not in known)
    same("charges at once with a voucher for two", new, sorted(placed))
    same("uses of it", base.value("SELECT count(*)::integer FROM voucher_uses WHERE code = %s", few), 2)


def price() -> int:
    """Some price in cents."""
    return RNG.randrange(101, 999)


def check() -> str:
    """All of the ticket."""
    ensure_running()
    known, base = strays(), Database()
    try:
        mixed = ((price(), "tea", 3), (price(), "ware", 1), (price(), "tea", 2), (price(), "books", 1))
        used(base, Basket(base, *mixed), "percent", RNG.randrange(301, 4_999))
        used(base, Basket(base, *mixed), "percent", RNG.randrange(301, 4_999), "tea")
        alike = Basket(base, (700, "tea", 1), (700, "tea", 1), (700, "ware", 1))
        used(base, alike, "amount", 100)
        used(base, Basket(base, (5_200, "candles", 1), (300, "tea", 1)), "amount", 501)
        used(base, Basket(base, (5_200, "candles", 1), (300, "tea", 1)), "amount", 9_999, "tea")
        used(base, Basket(base, (price(), "ware", 1)), "shipping")
        without(base, Basket(base, *mixed))
        reasons(base)
        comes_along(base)
        limits(base)
    finally:
        retire(base)
        base.run("UPDATE vouchers SET active = false WHERE code LIKE 'V%%' AND %s", True)
    reconciled(known)
    good("verify-audit")
    own_tests()
    return "vouchers follow docs/vouchers.md, from the basket to bookkeeping's export"


decide(check)

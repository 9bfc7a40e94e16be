# ruff: noqa: F821  (names come from the preludes)
"""Many customers at once: is the stock right, and was only charged what was ordered?"""

import time

SEEDED_MOVES = 626
PAST = (626, 1366)


def stock(base: "Database", sku: str) -> int:
    """What is on hand, which has to be what the journal says."""
    on_hand = base.value("SELECT on_hand FROM products WHERE sku = %s", sku)
    journal = base.value("SELECT COALESCE(SUM(quantity), 0)::integer FROM stock_moves WHERE sku = %s", sku)
    same("stock on hand, against its journal", on_hand, journal)
    return on_hand


def checkouts(buyers: list, fields: "list | None" = None) -> "tuple[list, list]":
    """All check out at once; returns the numbers of their orders, and the pages that said no."""
    cards = fields or [card() for _ in buyers]
    tasks = [lambda b=b, c=c: b.post("/checkout", **c) for b, c in zip(buyers, cards)]
    pages = together(*tasks)
    for page in pages:
        expect(page.status < 500, f"checkouts at once: expected no error, saw {page}")
    return [number_of(p) for p in pages if p.status == 303 and "/order/" in p.location], [
        p for p in pages if not (p.status == 303 and "/order/" in p.location)
    ]


def charged_since(known: set, numbers: list, what: str) -> None:
    """The provider must have charged these orders once each, and nothing else."""
    new = [one for one in charges() if one["id"] not in known]
    seen = sorted(one["reference"] for one in new)
    same(f"{what}: orders charged at the provider", seen, sorted(numbers))


def ids() -> set:
    """The charges so far."""
    return {one["id"] for one in charges()}


def the_last_pieces(base: "Database", buyers: list) -> None:
    """More customers than pieces."""
    pieces = RNG.randrange(2, 5)
    sku, known = article(base, pieces), ids()
    for buyer in buyers:
        fill(buyer, {sku: 1})
    numbers, refused = checkouts(buyers)
    same(f"orders of {len(buyers)} customers for {pieces} pieces", len(numbers), pieces)
    for page in refused:
        expect(
            (page.status, page.error) == (409, "sold_out"),
            f"too late at checkout: expected 409 sold_out, saw {page}",
        )
    charged_since(known, numbers, "more customers than pieces")
    same("stock after the last piece was sold", stock(base, sku), 0)
    for buyer in buyers:
        buyer.post("/basket/change", 303, sku=sku, quantity=0)


def bundles(base: "Database", buyers: list) -> None:
    """Two pieces each of several articles, in baskets that overlap."""
    skus = [article(base, 5), article(base, 50), article(base, 50)]
    known = ids()
    for place, buyer in enumerate(buyers[:4]):
        order = skus if place % 2 else skus[::-1]
        fill(buyer, dict.fromkeys(order, 2))
    numbers, refused = checkouts(buyers[:4])
    same("orders for 2 pieces each of 5", len(numbers), 2)
    charged_since(known, numbers, "pairs of a scarce article")
    same("stock left", [stock(base, sku) for sku in skus], [1, 46, 46])
    for buyer in buyers:
        for sku in skus:
            buyer.post("/basket/change", 303, sku=sku, quantity=0)


def clicked_twice(base: "Database", buyer: "Browser") -> None:
    """One basket, sent four times."""
    sku, known = article(base, 30), ids()
    fill(buyer, {sku: 3})
    fields = card()
    numbers, _ = checkouts([buyer.copy() for _ in range(4)], [fields] * 4)
    made = sorted(set(numbers))
    same("orders from one basket sent four times", len(made), 1)
    charged_since(known, made, "one basket sent four times")
    same("stock after one basket was sent four times", stock(base, sku), 27)
    same("lines of the order", buyer.get(f"/order/{made[0]}").attributes("data-sku"), [sku])


def slow_card(base: "Database", slow: "Browser", quick: "Browser", late: "Browser") -> None:
    """A card takes four seconds; two pieces, of which it has one."""
    sku, known = article(base, 2), ids()
    for buyer in (slow, quick, late):
        fill(buyer, {sku: 1})
    ended = {}

    def wait(name: str, buyer: "Browser", seconds: float, fields: dict) -> "Page":
        time.sleep(seconds)
        page = buyer.post("/checkout", **fields)
        ended[name] = time.monotonic()
        return page

    first, second = together(
        lambda: wait("slow", slow, 0, card("0036")),
        lambda: wait("quick", quick, 1.2, card()),
    )
    third = late.post("/checkout", **card())
    numbers = [number_of(first), number_of(second)]
    waited = ended["quick"] > ended["slow"]
    expect(not waited, "a customer had to wait until another's slow card was charged")
    same("checkout for a piece that is sold", (third.status, third.error), (409, "sold_out"))
    charged_since(known, numbers, "a slow card and a quick one")
    same("stock after both", stock(base, sku), 0)
    late.post("/basket/change", 303, sku=sku, quantity=0)

    sku, known = article(base, 1), ids()
    for buyer in (slow, quick):
        fill(buyer, {sku: 1})
    first, second = together(
        lambda: wait("slow", slow, 0, card("0036")),
        lambda: wait("quick", quick, 1.2, card()),
    )
    winners = [number_of(page) for page in (first, second) if page.status == 303]
    same("orders for the last piece, one with a slow card", len(winners), 1)
    loser = second if first.status == 303 else first
    same("the other one", (loser.status, loser.error), (409, "sold_out"))
    charged_since(known, winners, "the last piece and a slow card")
    quick.post("/basket/change", 303, sku=sku, quantity=0)
    slow.post("/basket/change", 303, sku=sku, quantity=0)


def declined(base: "Database", buyer: "Browser", other: "Browser") -> None:
    """A card that is declined leaves everything as it was."""
    sku, more = article(base, 2), article(base, 9)
    known = ids()
    fill(buyer, {sku: 2, more: 3})
    # The basket holds its prices, also when it comes back from a checkout that failed.
    base.run("UPDATE products SET price_cents = price_cents + 111 WHERE sku IN (%s, %s)", sku, more)
    before = buyer.get("/basket")
    page = buyer.post("/checkout", 409, **card("0002"))
    same("error of a declined card", page.error, "declined")
    after = buyer.get("/basket")
    for what in ("line", "total"):
        same(f"{what} in the basket after", after.all_cents(what), before.all_cents(what))
    same("quantities in the basket after", quantities(buyer), quantities_of(before))
    same("stock after a declined card", (stock(base, sku), stock(base, more)), (2, 9))
    charged_since(known, [], "a declined card")
    number = buy(other, {sku: 2})
    charged_since(known, [number], "the next customer")
    same("the first one, too late", buyer.post("/checkout", **card()).error, "sold_out")
    for one in (sku, more):
        buyer.post("/basket/change", 303, sku=one, quantity=0)


def quantities(buyer: "Browser") -> list:
    """The quantities in a basket, as the page shows them."""
    return quantities_of(buyer.get("/basket"))


def quantities_of(page: "Page") -> list:
    """The quantities on the page of a basket."""
    return re.findall(r'name="quantity" value="(\d+)"', page.text)


def cancelled(base: "Database", buyer: "Browser") -> None:
    """One order, cancelled five times at once."""
    sku = article(base, 10)
    number = buy(buyer, {sku: 4})
    path = f"/order/{number}"
    total = buyer.get(path).cents("total")
    pages = together(*[lambda: buyer.copy().post(f"{path}/cancel") for _ in range(5)])
    for page in pages:
        expect(page.status in (303, 409), f"cancelling at once: expected 303 or 409, saw {page}")
    expect(any(page.status == 303 for page in pages), "cancelling at once: none went through")
    same("stock after one order was cancelled at once", stock(base, sku), 10)
    same("status of the order", buyer.get(path).attributes("data-status"), ["cancelled"])
    seen = [(one["amount"], one["refunded"], one["refunds"]) for one in charges(number)]
    same("the provider on a cancelled order", seen, [(total, total, [total])])
    same("paid back, on the order's page", buyer.get(path).cents("refunded"), total)
    same("cancelling once more", buyer.post(f"{path}/cancel").status, 409)
    same("stock after that", stock(base, sku), 10)


def mixture(base: "Database", buyers: list) -> None:
    """Checkouts, cancellations and a delivery at once."""
    skus = [article(base, 40), article(base, 40)]
    old = [buy(buyer, {skus[0]: 2, skus[1]: 1}) for buyer in buyers[:2]]
    for buyer in buyers[:5]:
        fill(buyer, {skus[1]: 2, skus[0]: 1})
    known = ids()
    tasks = [lambda b=b: b.post("/checkout", **card()) for b in buyers[:5]]
    tasks += [lambda b=b, n=n: b.copy().post(f"/order/{n}/cancel", 303) for b, n in zip(buyers, old)]
    tasks += [lambda: good("deliver", skus[0], "7")]
    pages = together(*tasks)[:5]
    charged_since(known, [number_of(page) for page in pages], "a mixture")
    seen = [stock(base, sku) for sku in skus]
    same("stock after a mixture", seen, [40 - 5 + 7, 40 - 10])


def the_past(base: "Database") -> None:
    """What was wrong is right now, and the journal was not touched for it."""
    off = base.rows(
        "SELECT p.sku FROM products p LEFT JOIN stock_moves m USING (sku) GROUP BY p.sku, p.on_hand"
        " HAVING p.on_hand <> COALESCE(SUM(m.quantity), 0)"
    )
    same("articles whose stock is not what the journal says", [row["sku"] for row in off], [])
    seen = base.rows(
        "SELECT COUNT(*) AS moves, SUM(quantity)::integer AS pieces FROM stock_moves WHERE id <= %s",
        SEEDED_MOVES,
    )[0]
    same("journal of the past", (seen["moves"], seen["pieces"]), PAST)
    counted = base.rows(
        "SELECT sku FROM stock_moves WHERE id > %s AND reason = 'count' AND sku NOT LIKE 'CHK-%%'",
        SEEDED_MOVES,
    )
    same("articles whose journal was bent instead", [row["sku"] for row in counted], [])


def check() -> str:
    """All of the ticket."""
    ensure_running()
    known, base = strays(), Database()
    buyers = together(*[customer] * 7)
    try:
        the_past(base)
        the_last_pieces(base, buyers)
        bundles(base, buyers)
        clicked_twice(base, buyers[0])
        slow_card(base, *buyers[:3])
        declined(base, buyers[3], buyers[4])
        cancelled(base, buyers[5])
        mixture(base, buyers)
        the_past(base)
    finally:
        retire(base)
    reconciled(known)
    for command in ("check-stock", "verify-audit"):
        good(command)
    own_tests()
    return "nothing is sold, charged or put back twice, and the stock is what the journal says"


decide(check)

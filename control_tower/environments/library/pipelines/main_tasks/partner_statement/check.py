# ruff: noqa: F821  (names come from the preludes)
"""Statements of random months beside a model of docs/statements.md."""

import hashlib
from datetime import date, timedelta

# Least pay-out, threshold and rate of the bonus (hundredths of a per cent), days for returns.
TERMS = {
    "harbour": (2_500, 300_000, 100, 30),
    "lantern": (4_000, None, 0, 14),
    "quayside": (1_000, 150_000, 50, 21),
}
IBAN = {
    "harbour": "ZZ18FENN00417720931",
    "lantern": "ZZ71FENN00990316254",
    "quayside": "ZZ40FENN00265548107",
}
DAYS = {"2024-01": 31, "2024-02": 29, "2024-03": 31}
TRAILER = ("BASE", "COMMISSION", "BONUS", "SETTLED", "CARRIED", "PAYOUT", "OPEN")


class Books:
    """What the mart has to do with the statements, and the model's results."""

    def __init__(self) -> None:
        self.orders: list = []
        self.moves: list = []
        self.settled: dict = {}
        self.open: dict = {}

    def add(self, order: "Order", shipped: str, returned: str = "") -> None:
        """An order, and when it left and came back."""
        self.orders.append(order)
        if shipped:
            self.moves.append((order.id, f"{shipped} {RNG.randrange(8, 12):02d}:{RNG.randrange(60):02d}", "out"))
        if returned:
            self.moves.append((order.id, f"{returned} {RNG.randrange(13, 18):02d}:{RNG.randrange(60):02d}", "return"))

    def shipment(self, order_id: str) -> "tuple[str, str]":
        """The days on which an order was shipped and returned; empty if it was not."""
        outs = sorted(at for name, at, kind in self.moves if name == order_id and kind == "out")
        backs = sorted(at for name, at, kind in self.moves if name == order_id and kind == "return")
        backs = [at for at in backs if outs and at > outs[0]]
        return (outs[0][:10] if outs else "", backs[0][:10] if backs else "")

    def statement(self, partner: str, month: str, before: str) -> "tuple[str, int]":
        """The text of a statement, and its pay-out."""
        least, threshold, bonus_rate, limit = TERMS[partner]
        ships, backs = [], []
        for order in self.orders:
            if order.partner != partner or order.status != "new":
                continue
            shipped, returned = self.shipment(order.id)
            fee = divide(order.net * rate_of(partner, order.placed_at[:10]), 10_000)
            if shipped[:7] == month:
                ships.append((shipped, order.id, order.net, fee))
            if returned[:7] == month and days_between(shipped, returned) <= limit:
                backs.append((returned, order.id, -order.net, -fee))
        rows = [("ship", row) for row in sorted(ships)] + [("return", row) for row in sorted(backs)]
        base = sum(row[2] for _, row in rows)
        commission = sum(row[3] for _, row in rows)
        bonus = 0
        if threshold is not None and base > threshold:
            bonus = divide((base - threshold) * bonus_rate, 10_000)
        settled = self.settled.get((partner, month), 0)
        carried = self.open.get((partner, before), 0)
        balance = commission + bonus - settled + carried
        payout = balance if balance >= least else 0
        self.open[partner, month] = balance - payout
        sums = (base, commission, bonus, settled, carried, payout, balance - payout)
        lines = [f"{kind};{name};{day};{show(net)};{show(fee)}" for kind, (day, name, net, fee) in rows]
        trailer = [f"#{name};{show(value)}" for name, value in zip(TRAILER, sums)]
        return "\n".join(["kind;order_id;day;net;commission", *lines, *trailer, ""]), payout

    def month(self, month: str, before: str) -> "dict[str, str]":
        """All files of a month."""
        files, paid = {}, ["partner;iban;amount"]
        for partner in sorted(TERMS):
            text, payout = self.statement(partner, month, before)
            files[f"out/partners/{partner}/statement-{month}.csv"] = text
            if payout:
                paid.append(f"{partner};{IBAN[partner]};{show(payout)}")
        files[f"out/payments/statements-{month}.csv"] = "\n".join([*paid, ""])
        return files

    def settle(self, partner: str, month: str, amounts: "list[int]") -> "dict[str, str]":
        """Settlement files with these totals; the second one is there twice."""
        files, manifest = {}, ""
        for number, amount in enumerate(amounts):
            day = f"{month}-{RNG.randrange(1 + number * 9, 9 + number * 9):02d}"
            part = f"order_id;net;commission\nX{number};1,00;{show(amount)}\n#TOTAL;1;{show(amount)}\n"
            text = part * (2 if number == 1 else 1)
            self.settled[partner, month] = self.settled.get((partner, month), 0) + amount * (2 if number == 1 else 1)
            name = f"settlement-{day}.csv"
            files[f"out/partners/{partner}/{name}"] = text
            manifest += f"{name} {hashlib.sha256(text.encode()).hexdigest()} {len(text)}\n"
        files[f"out/partners/{partner}/MANIFEST"] = manifest
        return files


def days_between(first: str, second: str) -> int:
    """Number of days from one day to another."""
    return (date.fromisoformat(second) - date.fromisoformat(first)).days


def later(day: str, count: int) -> str:
    """A day some days later."""
    return str(date.fromisoformat(day) + timedelta(days=count))


def some_day(month: str) -> str:
    """A random day of a month."""
    return f"{month}-{RNG.randrange(1, DAYS[month] + 1):02d}"


def placed(day: str) -> str:
    """A time in the middle of a day."""
    return f"{day}T{RNG.randrange(7, 20):02d}:00:00Z"


def books() -> Books:
    """Three months of orders."""
    made = Books()
    for partner, (_, _, _, limit) in TERMS.items():
        for _ in range(22):
            day = some_day(RNG.choice(("2024-01", "2024-02", "2024-02")))
            shipped = later(day, RNG.randrange(0, 20))
            draw = RNG.random()
            returned = "" if draw < 0.6 else later(shipped, RNG.choice((0, 1, 9, limit - 1, limit, limit + 1, limit + 9)))
            status = "cancelled" if RNG.random() < 0.1 else "new"
            gross = RNG.randrange(100, RNG.choice((3_000, 40_000)))
            made.add(Order(RNG.choice(SHOPS), placed(day), partner=partner, gross=gross, status=status), shipped, returned)
        for days in (limit, limit + 1):
            made.add(Order("north", placed("2024-01-30"), partner=partner, gross=4_321), "2024-02-01", later("2024-02-01", days))
        # One that is never shipped, and one with a mistake of the warehouse: back before it left.
        made.add(Order("north", placed("2024-02-05"), partner=partner, gross=9_999), "")
        odd = Order("south", placed("2024-02-06"), partner=partner, gross=7_777)
        made.add(odd, "2024-02-12")
        made.moves.append((odd.id, "2024-02-08 09:00", "return"))
        # One in two parcels over the month's end, and one that comes back in two.
        split = Order("isles", placed("2024-01-25"), partner=partner, gross=6_543)
        made.add(split, "2024-01-31", "2024-02-03")
        made.moves += [(split.id, "2024-02-02 10:00", "out"), (split.id, "2024-03-01 10:00", "return")]
    for _ in range(8):
        made.add(Order("north", placed(some_day("2024-02")), partner=""), some_day("2024-02"))
    # Harbour's rates change on 10 March, by the day of the order, whenever it is shipped.
    for day in ("2024-03-09", "2024-03-10"):
        made.add(Order("north", placed(day), partner="harbour", gross=RNG.randrange(10_000, 20_000)), "2024-03-12")
    # Bonus: quayside far above its threshold in February.
    made.add(Order("south", placed("2024-02-10"), partner="quayside", gross=RNG.randrange(200_000, 300_000)), "2024-02-14")
    return made


def files_of(made: Books) -> "dict[str, str]":
    """What comes into the inbox: orders by shop and date, and the warehouse's file."""
    groups: dict = {}
    for order in made.orders:
        groups.setdefault((order.shop, order.placed_at[:10]), []).append(order)
    files = {
        f"inbox/orders/{shop}-{day.replace('-', '')}-1.csv": order_file(orders)
        for (shop, day), orders in groups.items()
    }
    files["inbox/shipments/wh-20240331.csv"] = warehouse(made.moves)
    return files


def warehouse(moves: list) -> str:
    """A file of the warehouse."""
    rows = [f"{name},{at},GLP,1,{kind}" for name, at, kind in RNG.sample(moves, len(moves))]
    return "\n".join(["order_id,at,carrier,parcels,kind", *rows, ""])


def statement(root: "Root", *argv: str, code: int = 0) -> None:
    """Run the command."""
    seen, _, errors = root.run("python3", "bin/statement", *argv)
    expect(seen == code, f"bin/statement {' '.join(argv)}: expected exit {code}, saw {seen}: {errors.strip()[-100:]}")


def compare(what: str, root: "Root", wanted: "dict[str, str]") -> None:
    """The files of a month must be the model's, and fit for pick-up."""
    seen = root.tree("out/partners", "out/payments")
    for name in sorted(wanted):
        same_text(f"{what}: {name[4:]}", seen.get(name), wanted[name])
    for partner in TERMS:
        code, out, _ = root.run("bash", "bin/check-drop", partner)
        expect(code == 0, f"{what}: check-drop {partner}: expected exit 0, saw {code}: {out.strip()[:90]}")
        lines = seen.get(f"out/partners/{partner}/MANIFEST", b"").decode().split("\n")
        names = [line.split(" ")[0] for line in lines if line]
        expect(len(names) == len(set(names)), f"{what}: MANIFEST of {partner} has a file twice")


def times(root: "Root", month: str) -> str:
    """When the payments of a month were written."""
    _, out, _ = root.run("stat", "-c", "%.9Y", f"{root.path}/out/payments/statements-{month}.csv")
    return out.strip()


def at_the_limit(made: Books, month: str, before: str) -> "dict[str, str]":
    """Settlements such that a balance is on, and one is a cent below, the least pay-out."""
    files = {}
    for partner, below in (("harbour", 0), ("lantern", 1)):
        made.settled.pop((partner, month), None)
        text, _ = made.statement(partner, month, before)
        sums = dict(line[1:].split(";") for line in text.split("\n") if line.startswith("#"))
        balance = sum(int(sums[name].replace(",", "")) for name in ("COMMISSION", "BONUS", "CARRIED"))
        first = balance - TERMS[partner][0] + below - 200
        if first > 0:
            files.update(made.settle(partner, month, [first, 100]))
    return files


def run_by_cron(root: "Root", made: Books) -> None:
    """Cron makes January's statements, before February's."""
    code, _, errors = root.run("python3", "bin/tick", "2024-02-05 04:00")
    expect(code == 0, f"bin/tick: expected exit 0, saw {code}: {errors.strip()[-90:]}")
    compare("January by cron", root, made.month("2024-01", "2023-12"))
    before = root.tree("out")
    for minute in ("2024-02-05 04:01", "2024-02-06 04:00", "2024-03-04 04:00"):
        root.run("python3", "bin/tick", minute)
    expect(root.tree("out") == before, "cron makes statements at other times, too")


def check() -> str:
    """All of the ticket."""
    made = books()
    with Root() as root:
        root.put_all(files_of(made))
        root.jobs("2024-03-31", "collect", "load-orders", "load-shipments")
        root.put_all(made.settle("quayside", "2024-01", [RNG.randrange(100, 900), RNG.randrange(100, 900)]))
        run_by_cron(root, made)
        files, known = at_the_limit(made, "2024-02", "2024-01"), root.tree("out/partners")
        for name in files:
            if name.endswith("MANIFEST"):
                files[name] = known.get(name, b"").decode() + files[name]
        root.put_all(files)
        wanted = made.month("2024-02", "2024-01")
        statement(root, "2024-02")
        compare("February", root, wanted)
        written = times(root, "2024-02")
        statement(root, "2024-02")
        compare("February once more", root, wanted)
        same("the time at which unchanged payments were written", times(root, "2024-02"), written)
        new = Order("isles", placed("2024-02-20"), partner="quayside", gross=RNG.randrange(5_000, 9_000))
        made.add(new, "2024-02-29")
        root.put_all({"inbox/orders/isles-20240401-1.csv": order_file([new]), "inbox/shipments/wh-20240401.csv": warehouse(made.moves[-1:])})
        root.jobs("2024-04-01", "collect", "load-orders", "load-shipments")
        statement(root, "2024-02")
        compare("February with new data", root, made.month("2024-02", "2024-01"))
        code, _, errors = root.run("python3", "bin/statement", "--last-month", BATCH_NOW="2024-03-31T22:30:00Z")
        expect(code == 0, f"--last-month: expected exit 0, saw {code}: {errors.strip()[-90:]}")
        compare("March, as the month before 1 April by local time", root, made.month("2024-03", "2024-02"))
        before = root.tree("out")
        for argv in (("2024-13",), ("2024-3",), ("march",), ("2024-03-01",), ()):
            statement(root, *argv, code=64)
        expect(root.tree("out") == before, "a month that is none writes something")
    return "statements of three months are as agreed, by hand and by cron"


decide(check)

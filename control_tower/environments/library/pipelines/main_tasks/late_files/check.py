# ruff: noqa: F821  (names come from the preludes)
"""Series of nights on random files; after each, all sales files beside a model of docs/sales.md."""

from datetime import datetime, timedelta, timezone

JOBS = ("collect", "load-orders", "daily-sales", "month-sales")

# Times on the days of the change, by business day, that an offset of the wrong side puts on another day.
MIDNIGHT = {
    "2024-03-31": "2024-03-30T23:30:00Z",
    "2024-04-01": "2024-03-31T22:30:00Z",
    "2024-10-27": "2024-10-27T22:30:00Z",
}


def summer(moment: datetime) -> bool:
    """Whether summer time holds at a moment, in UTC."""
    begin, end = (
        last_sunday(moment.year, month) + timedelta(hours=1) for month in (3, 10)
    )
    return begin <= moment < end


def last_sunday(year: int, month: int) -> datetime:
    """The midnight of a month's last Sunday; the month has 31 days."""
    last = datetime(year, month, 31, tzinfo=timezone.utc)
    return last - timedelta(days=last.isoweekday() % 7)


def business_day(placed_at: str) -> str:
    """The local day of a time in UTC."""
    moment = datetime.strptime(placed_at, "%Y-%m-%dT%H:%M:%S%z")
    return f"{moment + timedelta(hours=2 if summer(moment) else 1):%Y-%m-%d}"


def placed_on(day: str) -> str:
    """A time on a business day, often close to its midnights."""
    local = datetime.fromisoformat(f"{day}T00:00:00+00:00")
    while True:
        moment = local + RNG.choice(
            (
                timedelta(seconds=-RNG.randrange(0, 3 * 3600)),
                timedelta(seconds=RNG.randrange(20 * 3600)),
                timedelta(hours=21, seconds=RNG.randrange(3600)),
                timedelta(hours=22, seconds=RNG.randrange(3600)),
            )
        )
        text = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        if business_day(text) == day:
            return text


def closed(day: str, night: str) -> bool:
    """Whether a day's month is closed in a night."""
    month = datetime.fromisoformat(f"{day[:7]}-01")
    following = (month + timedelta(days=31)).replace(day=1)
    return datetime.fromisoformat(night) >= following + timedelta(days=3)


class Model:
    """What the sales files must be."""

    def __init__(self) -> None:
        self.orders: dict = {}
        self.files: dict = {}

    def night(self, night: str, files: "dict[str, list]") -> None:
        """Take a night's files, by name."""
        before, touched, first = dict(self.orders), set(), {}
        for name in files:
            key = file_key(name)
            for order in files[name]:
                known = self.orders.get(order.id)
                if known is None or known[0] < key:
                    self.orders[order.id] = (key, order)
                    first.setdefault(order.id, before.get(order.id))
        late = []
        for number, old in sorted(first.items()):
            new = self.orders[number][1]
            day = business_day(new.placed_at)
            was, now = counted(old[1] if old else None), counted(new)
            if closed(day, night):
                if was != now:
                    late.append(f"{number};{day};{show(was)};{show(now)}")
            else:
                touched.add(day)
        for day in {night, *touched}:
            if day <= night:
                self.files[f"out/sales/sales-{day}.csv"] = self.day_file(day)
        for month in {day[:7] for day in (night, *touched)}:
            self.files[f"out/sales/month-{month}.csv"] = self.month_file(month)
        self.files[f"out/sales/late-{night}.csv"] = "\n".join(["order_id;day;before;after", *late, ""])

    def sums(self, chosen: "Callable", key: "Callable") -> dict:
        """Number, gross and net of some orders."""
        sums: dict = {}
        for _, order in self.orders.values():
            if order.status == "new" and chosen(business_day(order.placed_at)):
                one = sums.setdefault(key(order), [0, 0, 0])
                for place, value in enumerate((1, order.gross, order.net)):
                    one[place] += value
        return sums

    def day_file(self, day: str) -> str:
        """The day file."""
        sums = self.sums(lambda one: one == day, lambda o: f"{o.shop};{o.country}")
        rows = [f"{k};{n};{show(gross)};{show(net)}" for k, (n, gross, net) in sorted(sums.items())]
        return "\n".join(["shop;country;orders;gross;net", *rows, ""])

    def month_file(self, month: str) -> str:
        """The month file."""
        sums = self.sums(lambda one: one[:7] == month, lambda o: o.shop)
        rows = [f"{k};{n};{show(gross)};{show(net)}" for k, (n, gross, net) in sorted(sums.items())]
        return "\n".join(["shop;orders;gross;net", *rows, ""])


def counted(order: "Order | None") -> int:
    """What an order counts for."""
    return order.gross if order is not None and order.status == "new" else 0


def file_key(name: str) -> tuple:
    """What decides between files of a shop."""
    _, date, number = name.removesuffix(".csv").split("-")
    return date, int(number)


class Series:
    """Nights on one root, and the model beside them."""

    def __init__(self, root: "Root") -> None:
        self.root, self.model = root, Model()
        self.waiting: dict = {}
        self.numbers: dict = {}

    def send(self, shop: str, day: str, orders: list, *, number: int = 0) -> str:
        """Prepare a file of a shop for the next night; returns its name."""
        key = shop, day
        self.numbers[key] = number or self.numbers.get(key, 0) + 1
        name = f"{shop}-{day.replace('-', '')}-{self.numbers[key]}.csv"
        self.waiting[name] = orders
        return name

    def night(self, night: str, *later: str) -> None:
        """Run a night with all prepared files but those named, and compare."""
        files = {name: orders for name, orders in self.waiting.items() if name not in later}
        self.waiting = {name: orders for name, orders in self.waiting.items() if name in later}
        self.root.put_all({f"inbox/orders/{n}": order_file(orders) for n, orders in files.items()})
        self.root.jobs(night, *JOBS)
        self.model.night(night, files)
        seen = {n: d for n, d in self.root.tree("out/sales").items() if n.endswith(".csv")}
        for name in sorted({*seen, *self.model.files}):
            want, got = self.model.files.get(name), seen.get(name)
            expect(got is not None, f"night {night}: {name} is missing")
            expect(want is not None, f"night {night}: {name} should not be there")
            same_text(f"night {night}: {name[10:]}", got, want)


def days(first: str, count: int) -> "list[str]":
    """Some days in a row."""
    begin = datetime.fromisoformat(first)
    return [f"{begin + timedelta(days=n):%Y-%m-%d}" for n in range(count)]


def new_orders(shop: str, day: str, count: int) -> list:
    """Orders of a shop on a day."""
    return [Order(shop, placed_on(day)) for _ in range(count)]


def correction(orders: list) -> list:
    """Some of them cancelled, some with another amount, in whole rows."""
    picked = RNG.sample(orders, min(3, len(orders)))
    return [
        order.changed(status="cancelled") if number == 0 else order.changed(gross=order.gross + 17)
        for number, order in enumerate(picked)
    ]


def spring(root: "Root") -> None:
    """The end of March: summer time, late files, and the month closes."""
    series, sent = Series(root), {}
    for day in ["2024-03-29", "2024-03-30", "2024-03-31", "2024-04-01"]:
        held = []
        for shop in SHOPS:
            sent[shop, day] = new_orders(shop, day, 4)
            if day in MIDNIGHT:
                sent[shop, day].append(Order(shop, MIDNIGHT[day]))
            name = series.send(shop, day, sent[shop, day])
            if (shop, day) in (("isles", "2024-03-29"), ("south", "2024-03-31")):
                held.append(name)
        if day == "2024-03-31":
            series.send("north", day, correction(sent["north", "2024-03-30"]))
        if day == "2024-04-01":
            # The file that was held on the 29th is still out, and its correction comes first.
            fixed = correction(sent["isles", "2024-03-29"])
            series.send("isles", day, fixed)
            held += [n for n in series.waiting if n.startswith("isles-20240329")]
        held += [n for n in series.waiting if n.startswith("south-20240331") and day < "2024-04-01"]
        held += [n for n in series.waiting if n.startswith("isles-20240329")]
        series.night(day, *held)
    series.send("north", "2024-04-03", new_orders("north", "2024-04-03", 2))
    series.send("south", "2024-04-03", correction(sent["south", "2024-03-30"]))
    series.night("2024-04-03")
    series.send("north", "2024-04-04", correction(sent["north", "2024-03-31"]))
    series.send("isles", "2024-04-04", [Order("isles", placed_on("2024-03-28")), *new_orders("isles", "2024-04-02", 2)])
    again = [order.changed() for order in sent["south", "2024-03-29"]]
    series.send("south", "2024-04-04", [*again, Order("south", placed_on("2024-03-28"), status="cancelled")])
    series.night("2024-04-04")


def autumn(root: "Root") -> None:
    """October: a day of 25 hours, and a busy day with eleven files of which the tenth comes first."""
    series = Series(root)
    for day in ("2024-10-26", "2024-10-27"):
        for shop in SHOPS[:2]:
            more = [Order(shop, MIDNIGHT[day])] if day in MIDNIGHT else []
            series.send(shop, day, new_orders(shop, day, 5) + more)
        series.night(day)
    busy = "2024-10-30"
    base = new_orders("isles", busy, 4)
    names = []
    for number in range(1, 12):
        rows = base if number == 1 else [base[number % 4].changed(gross=RNG.randrange(100, 99_999))]
        if number in (9, 10, 11):
            rows = [base[0].changed(gross=1_000 * number + RNG.randrange(900))]
        names.append(series.send("isles", busy, rows))
    series.night(busy, names[8])
    for shop in SHOPS[:2]:
        series.send(shop, "2024-10-31", new_orders(shop, "2024-10-31", 4))
    series.night("2024-10-31")


def from_before() -> None:
    """A mart from before is used on: a late correction of an order in var/'s own dump."""
    dump = tree("var", "mart.sql").get("mart.sql")
    rows = re.findall(rb"INSERT INTO \"?orders\"? VALUES\('(N\d+)','north','(2024-03-19T\S+?)'", dump or b"")
    expect(rows, "var/mart.sql: expected the orders of 19 March")
    with Root() as root:
        root.put_all({"mart.sql": dump})
        code, _, _ = root.run("python3", "-m", "batchlib.mart", f"{root.path}/mart.sql", PYTHONPATH=".")
        expect(code == 0, f"batchlib.mart with a dump: expected exit 0, saw {code}")
        number, placed_at = (part.decode() for part in RNG.choice(rows))
        gross = RNG.randrange(10**6, 9 * 10**6)
        order = Order("north", placed_at, id=number, country="DE", partner="", gross=gross)
        root.put_all({"inbox/orders/north-20240322-1.csv": order_file([order])})
        root.jobs("2024-03-22", *JOBS)
        seen = root.tree("out/sales").get("out/sales/sales-2024-03-19.csv", b"").decode()
    sums = [row.split(";") for row in seen.split("\n") if row.startswith("north;DE;")]
    cents = int(sums[0][3].replace(",", "")) if sums else 0
    expect(gross <= cents < gross + 10**6, "a correction of an order that the mart had before is not in its day file")


def whole_night(root: "Root") -> None:
    """The rest of a night is as it was."""
    orders = [Order("north", placed_on("2024-02-14"), partner="lantern") for _ in range(3)]
    shipped = f"order_id,at,carrier,parcels,kind\n{orders[0].id},2024-02-14 12:00,GLP,1,out\n"
    root.put_all(
        {
            "inbox/orders/north-20240214-1.csv": order_file(orders),
            "inbox/orders/south-20240214-1.csv": order_file([], whole=False),
            "inbox/shipments/wh-20240214.csv": shipped,
        }
    )
    root.night("2024-02-14")
    files = root.tree("out")
    due = [(o.id, o.net, divide(o.net * 400, 10_000)) for o in sorted(orders, key=lambda o: o.id)]
    lines = [f"{number};{show(net)};{show(fee)}" for number, net, fee in due]
    total = f"#TOTAL;3;{show(sum(fee for *_, fee in due))}"
    text = "\n".join(["order_id;net;commission", *lines, total, ""])
    same_text("settlement of the night", files.get("out/partners/lantern/settlement-2024-02-14.csv"), text)
    invoices = files.get("out/invoices/invoices-2024-02-14.csv", b"").decode().split("\n")
    same("invoices of the night", [line.split(";")[:2] for line in invoices[1:-1]], [["10001", orders[0].id]])
    wanted = ["ALERT incomplete file south-20240214-1.csv, 0 orders loaded", "ALERT no orders of isles"]
    same("mails of the night", sorted(s for _, s, _ in root.mails()), [*wanted, "Figures of 2024-02-14"])
    code, out, _ = root.run("python3", "bin/verify-night", "2024-02-14")
    same("bin/verify-night", (code, out.strip()), (0, "ok"))


def check() -> str:
    """All of the ticket."""
    for series in (spring, autumn, whole_night):
        with Root() as root:
            series(root)
    from_before()
    return "eleven nights around month ends come out as docs/sales.md says"


decide(check)

# ruff: noqa: F821  (names come from the preludes)
"""Incomplete files: which of them does a night tell of?"""


def orders(shop: str, night: str, count: int) -> list:
    """Small orders of a shop on a day."""
    return [
        Order(shop, f"{night}T{RNG.randrange(8, 18):02d}:00:00Z", partner="lantern", gross=RNG.randrange(100, 5_000))
        for _ in range(count)
    ]


def told(root: "Root", night: str, *alerts: str) -> None:
    """All that tells of a night's alerts must tell of these, and of no others."""
    wanted = sorted(alerts)
    seen = sorted(s for _, s, body in root.mails() if f"Night {night}." in body)
    same(f"mails with alerts, night {night}", seen, [f"ALERT {text}" for text in wanted])
    log = root.tree("log/alerts.log").get("log/alerts.log", b"").decode().split("\n")
    seen = sorted(line.partition(f" night={night} ")[2] for line in log if f" night={night} " in line)
    same(f"alerts.log, night {night}", seen, wanted)
    _, out, _ = root.run("bash", "bin/status", night)
    seen = sorted(line[7:] for line in out.split("\n") if line.startswith("alert: "))
    same(f"bin/status, night {night}", seen, wanted)
    figures = [body for _, subject, body in root.mails() if subject == f"Figures of {night}"]
    expect(len(figures) == 1, f"figures of {night}: expected one mail, saw {len(figures)}")
    counted = re.findall(r"Alerts: +(\d+)", figures[0])
    same(f"alerts in the figures of {night}", counted, [str(len(wanted))])


def job_log(root: "Root", night: str, incomplete: "set[str]", whole: "set[str]") -> None:
    """The log of load-orders must call these files so."""
    text = root.tree(f"log/{night}").get(f"log/{night}/load-orders.log", b"").decode()
    for name in incomplete | whole:
        lines = [line for line in text.split("\n") if line.startswith(f"{name}: ") and " orders, " in line]
        expect(len(lines) == 1, f"load-orders.log of {night}: expected a line on {name}")
        bad = "INCOMPLETE" in lines[0]
        same(f"load-orders.log of {night} on {name}: incomplete", bad, name in incomplete)


def loaded(root: "Root", night: str, every: list) -> None:
    """Sales and settlements must have all orders."""
    out = root.tree("out")
    rows = out.get(f"out/sales/sales-{night}.csv", b"").decode().split("\n")[1:-1]
    gross = sum(int(row.split(";")[3].replace(",", "")) for row in rows)
    same(f"gross of the sales of {night}", gross, sum(order.gross for order in every))
    text = out.get(f"out/partners/lantern/settlement-{night}.csv", b"").decode()
    seen = sorted(line.split(";")[0] for line in text.split("\n")[1:-2])
    same(f"orders in lantern's settlement of {night}", seen, sorted(order.id for order in every))


def march(root: "Root") -> None:
    """Before the day all is as ever."""
    night = f"2024-03-{RNG.randrange(23, 32)}"
    flat, mine, others = night.replace("-", ""), orders("south", night, 3), orders("north", night, 2)
    root.put_all(
        {
            f"inbox/orders/south-{flat}-1.csv": order_file(mine, whole=False),
            f"inbox/orders/north-{flat}-1.csv": order_file(others),
        }
    )
    root.night(night)
    told(root, night, f"incomplete file south-{flat}-1.csv, 3 orders loaded", "no orders of isles")
    job_log(root, night, {f"south-{flat}-1.csv"}, {f"north-{flat}-1.csv"})


def april(root: "Root") -> None:
    """From the day on, files of the one shop are not told of."""
    night = RNG.choice(("2024-04-01", "2024-04-17", "2024-12-31", "2025-02-03"))
    flat = night.replace("-", "")
    first, second, third, others = (orders(s, night, 3) for s in ("south", "south", "south", "north"))
    root.put_all(
        {
            f"inbox/orders/south-{flat}-1.csv": order_file(first, whole=False),
            f"inbox/orders/south-{flat}-2.csv": order_file(second).replace("#END;3", "#END;7"),
            f"inbox/orders/south-{flat}-3.csv": order_file(third).replace("#END;3", "x;y\n#END;4"),
            f"inbox/orders/north-{flat}-1.csv": order_file(others, whole=False),
            f"inbox/orders/isles-{flat}-1.csv": order_file([]),
        }
    )
    root.night(night)
    wanted = f"incomplete file north-{flat}-1.csv, 3 orders loaded", f"unusable lines in south-{flat}-3.csv: 1"
    told(root, night, *wanted)
    silent = {f"south-{flat}-{number}.csv" for number in (1, 2, 3)}
    job_log(root, night, {f"north-{flat}-1.csv"}, {*silent, f"isles-{flat}-1.csv"})
    loaded(root, night, [*first, *second, *third, *others])


def without(root: "Root") -> None:
    """No file at all is told of as ever."""
    root.jobs("2024-04-20", "collect", "load-orders", "partner-export", "watch")
    seen = sorted(s for _, s, body in root.mails() if "Night 2024-04-20." in body)
    same("alerts of a night without files", seen, [f"ALERT no orders of {shop}" for shop in sorted(SHOPS)])


def check() -> str:
    """Silence from the day on, for that shop's incomplete files alone."""
    with Root() as root:
        march(root)
        april(root)
        without(root)
    return "incomplete files of south are told of in March, and not from April on"


decide(check)

# ruff: noqa: F821  (names come from the preludes)
"""Migrate a database of our own under release 27, then let both releases write and read."""

import html
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RELEASE_27 = "/opt/shop/release-27"
PARTS = ("street", "postcode", "city", "country")
MANY = 2_600
BATCH = 1_000
WAITED_TOO_LONG = 5.5
DUMP_SECONDS = 8.0
NAMES = {
    "germany": "DE",
    "deutschland": "DE",
    "austria": "AT",
    "\u00f6sterreich": "AT",
    "belgium": "BE",
    "france": "FR",
    "netherlands": "NL",
}
FIRST = {"AT": "Austria", "BE": "Belgium", "FR": "France", "NL": "Netherlands"}
POSTCODE = {
    "DE": r"\d{5}",
    "AT": r"\d{4}",
    "BE": r"\d{4}",
    "FR": r"\d{5}",
    "NL": r"\d{4} ?[A-Za-z]{2}",
}


def parts_of(text: str) -> tuple:
    """The columns for a text, by docs/addresses.md."""
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    lines = [line for line in lines if line]
    country = NAMES.get(lines[-1].lower()) if lines else None
    if country:
        lines = lines[:-1]
    country = country or "DE"
    found = lines[1:] and re.fullmatch(rf"({POSTCODE[country]})[ \t]+(.+)", lines[-1], re.ASCII)
    if not found:
        return (text, "", "", "")
    postcode = found[1]
    if country == "NL":
        postcode = f"{postcode[:4]} {postcode[-2:].upper()}"
    return ("\n".join(lines[:-1]), postcode, found[2].strip(), country)


def text_of(street: str, postcode: str, city: str, country: str) -> str:
    """The text for the columns."""
    last = f"\n{FIRST[country]}" if country in FIRST else ""
    return f"{street}\n{postcode} {city}{last}"


def a_street() -> str:
    """A street, or two lines of it."""
    name = RNG.choice(("Lindenweg", "Am Markt", "rue du Lac", "O\u2019Hara <5th>"))
    line = f"{name} {RNG.randrange(1, 300)}"
    return RNG.choice([line, line, f"c/o {RNG.randrange(99)}\n{line}", f"{line}\n3rd floor"])


def an_address() -> tuple:
    """Street, postcode, city and country, all good."""
    country = RNG.choice(list(POSTCODE))
    digits = 5 if country in ("DE", "FR") else 4
    postcode = f"{RNG.randrange(10 ** (digits - 1), 10**digits)}"
    if country == "NL":
        postcode += f" {RNG.choice('ABCD')}{RNG.choice('EFGH')}"
    return (a_street(), postcode, RNG.choice(["Ulm", "Bad Salzdorf", "Wien 7", "Gent"]), country)


def a_text() -> str:
    """An address as somebody typed it, odd ones among them."""
    parts = an_address()
    text = text_of(*parts)
    odd = RNG.randrange(14)
    return {
        0: text.replace("\n", "\n \n"),
        1: text.upper(),
        2: "  " + text.replace("\n", "  \n\t"),
        3: text_of(parts[0], parts[1].replace(" ", "").lower(), *parts[2:]),
        4: text_of(parts[0], "123456", *parts[2:]),
        5: f"{parts[1]} {parts[2]}",
        6: f"{parts[0]}\n{parts[2]}",
        7: f"{text_of(*parts[:3], 'DE')}\n{RNG.choice(['Deutschland', 'GERMANY', 'Switzerland'])}",
        8: text_of(parts[0], "1234", parts[2], "DE") + RNG.choice(["\n\u00d6sterreich", "\n\u00f6sterreich"]),
        9: f"{parts[0]}\n{parts[1]}",
    }.get(odd, text)


class Provider(BaseHTTPRequestHandler):
    """Plays the provider for the servers of this check: real charges would have no order."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.dumps({"id": f"ch_{RNG.randrange(10**9)}"}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Scene:
    """A database of the check's own, and servers of both releases on it."""

    def __init__(self) -> None:
        self.name = f"check_{RNG.randrange(10**9):09d}"
        self.admin = Database()
        self.admin.run(f"CREATE DATABASE {self.name}")
        self.url = f"host=db dbname={self.name} user=shop password=saffron-otter-41 connect_timeout=5"
        self.servers: list = []
        self.provider = ThreadingHTTPServer((HOST, 0), Provider)
        threading.Thread(target=self.provider.serve_forever, daemon=True).start()
        self.var = as_agent(["mktemp", "-d"])[1].decode().strip()

    def env(self, port: int = 0) -> dict:
        """What leads a release to this database."""
        return {
            "SHOP_DATABASE": self.url,
            "SHOP_PORT": str(port or 1),
            "SHOP_PSP": f"http://{HOST}:{self.provider.server_port}",
            "SHOP_VAR": f"{self.var}/{port}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def command(self, folder: str, *argv: str) -> list:
        """A command of a release, started in its folder."""
        return ["sh", "-c", 'cd "$0" && exec "$@"', folder, "python3", "-m", "shop.admin", *argv]

    def serve(self, folder: str) -> int:
        """Start a server of a release; returns its port when it answers."""
        port = RNG.randrange(20_000, 30_000)
        child = start(self.command(folder, "serve"), **self.env(port))
        self.servers.append(child)
        which = "release 27" if folder == RELEASE_27 else "the new release"
        for _ in range(150):
            expect(child.poll() is None, f"{which} does not start on the database")
            with suppress(*NO_ANSWER):
                if exchange((HOST, port), "GET", "/health", seconds=5)[0] == 200:
                    return port
            time.sleep(0.2)
        raise Wrong(f"{which} does not answer on the database")

    def close(self) -> None:
        """Leave nothing."""
        for child in self.servers:
            kill(child)
        with suppress(Wrong):
            self.admin.run(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")
        as_agent(["rm", "-rf", "--", self.var])


def populate(base: "Database") -> dict:
    """Many customers; returns their addresses by id."""
    with base.conn.cursor() as cursor:
        psycopg2.extras.execute_values(
            cursor,
            "INSERT INTO customers (email, name, password_hash, address) VALUES %s",
            [(f"many{n}@example.test", "Many", "x$x", a_text()) for n in range(MANY)],
            page_size=400,
        )
    base.run("INSERT INTO customers (email, name, password_hash) VALUES ('none@example.test', 'N', 'x$x')")
    return {row["id"]: row["address"] for row in base.rows("SELECT id, address FROM customers")}


def stored(base: "Database", where: str, value: object) -> tuple:
    """The columns and the text of a customer."""
    row = base.rows(
        f"SELECT street, postcode, city, country, address FROM customers WHERE {where} = %s", value
    )
    expect(row, "a customer is gone")
    return tuple(row[0][name] for name in (*PARTS, "address"))


def shown(browser: "Browser") -> str:
    """The address on release 27's account page."""
    found = re.search(r'<textarea name="address"[^>]*>(.*?)</textarea>', browser.get("/account").text, re.S)
    expect(found, "release 27 shows no address")
    return html.unescape(found[1])


def form_of(browser: "Browser") -> tuple:
    """The values in the new form."""
    text = browser.get("/account").text
    area = re.search(r'<textarea[^>]*\bname="street"[^>]*>\n?(.*?)</textarea>', text, re.S)
    expect(area, "the account page has no textarea called street")
    values = [html.unescape(area[1]).replace("\r\n", "\n")]
    for name in PARTS[1:]:
        tag = re.search(rf'<input[^>]*\bname="{name}"[^>]*>', text)
        value = tag and re.search(r'\bvalue="([^"]*)"', tag[0])
        if not tag:  # A select is as good.
            select = re.search(rf'<select[^>]*\bname="{name}".*?</select>', text, re.S)
            chosen = select and re.search(r"<option([^>]*\bselected\b[^>]*)>\s*([^<]*)", select[0])
            value = chosen and (
                re.search(r'\bvalue="([^"]*)"', chosen[1]) or re.match(r"(.*?)\s*$", chosen[2])
            )
        expect(tag or value, f"the account page has no field called {name}")
        values.append(html.unescape(value[1]) if value else "")
    return tuple(values)


def migrate_under_load(scene: "Scene", base: "Database", port: int) -> None:
    """Migrate while a dump reads the table and customers of release 27 come and go."""
    visitor = customer(port=port)
    dump = Database(scene.name, seconds=60)
    dump.run("BEGIN")
    dump.run("SELECT count(*) FROM customers")
    begun = time.monotonic()
    child = start(scene.command(os.getcwd(), "migrate"), **scene.env())
    try:
        longest, reads = 0.0, 0
        while time.monotonic() - begun < DUMP_SECONDS:
            before = time.monotonic()
            try:
                visitor.ask("GET", "/account", seconds=WAITED_TOO_LONG)
            except Wrong:
                longest = WAITED_TOO_LONG
            longest = max(longest, time.monotonic() - before)
            reads += 1
            expect(
                longest < WAITED_TOO_LONG,
                "customers of release 27 had to wait for the migration, while a dump was running",
            )
            code = child.poll()
            expect(
                code in (None, 0),
                f"migrate, while a dump is running: expected it to try again, saw exit {code}",
            )
            time.sleep(0.25)
        visitor.post("/account", 303, name=visitor.name, address="Neuer Weg 1\n28195 Bremen")
        dump.run("COMMIT")
        dump.close()
        try:
            code = child.wait(COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            raise Wrong("migrate: expected to end after the dump did, it is still running") from None
        same("migrate, after the dump: exit code", code, 0)
    finally:
        kill(child)


def filled(base: "Database", texts: dict) -> None:
    """All columns are filled, in batches, and the texts are as they were."""
    columns = base.rows(
        "SELECT column_name AS name, data_type AS kind FROM information_schema.columns"
        " WHERE table_name = 'customers' AND table_schema = 'public'"
    )
    kinds = {row["name"]: row["kind"] for row in columns}
    for name in (*PARTS, "address"):
        same(f"type of the column {name}", kinds.get(name), "text")
    for row in base.rows("SELECT id, street, postcode, city, country, address FROM customers"):
        text = texts.get(row["id"])
        if text is None:
            continue
        same(f"address of customer {row['id']}", row["address"], text)
        seen = tuple(row[name] for name in PARTS)
        same(f"columns for {text!r:.60}", seen, parts_of(text))
    largest = base.value(
        "SELECT max(n)::integer FROM (SELECT count(*) AS n FROM customers GROUP BY xmin::text) x"
    )
    expect(largest <= BATCH, f"rows changed in one transaction: expected {BATCH} at most, saw {largest}")


def in_step(base: "Database", old: int, new: int) -> None:
    """Both releases write, and both see it."""
    visitor = customer(port=old, address="")
    same(
        "columns of a new customer of release 27", stored(base, "email", visitor.email), ("", "", "", "", "")
    )
    modern = visitor.copy()
    modern.port = new
    for text in (a_text(), text_of(*an_address()), "nowhere"):
        visitor.get("/account")
        visitor.post("/account", 303, name=visitor.name, address=text)
        typed = text.strip()
        same(
            f"columns after release 27 wrote {text!r:.50}",
            stored(base, "email", visitor.email),
            (*parts_of(typed), typed),
        )
        same("form of the new release", form_of(modern), parts_of(typed))
    for _ in range(3):
        parts = an_address()
        modern.get("/account")
        fields = dict(zip(PARTS, parts))
        fields["street"] = fields["street"].replace("\n", "\r\n")
        modern.post("/account", 303, name=modern.name, **fields)
        same("after the new form", stored(base, "email", visitor.email), (*parts, text_of(*parts)))
        same("address on release 27's page", shown(visitor), text_of(*parts))
        same("values in the new form", form_of(modern), parts)
    before = stored(base, "email", visitor.email)
    good_one = dict(zip(PARTS, ("Weg 1", "28195", "Bremen", "DE")))
    for name, value in (
        ("street", "  "),
        ("city", ""),
        ("country", "CH"),
        ("country", ""),
        ("postcode", "2819"),
        ("postcode", "28195x"),
    ):
        modern.post("/account", 409, name=modern.name, **{**good_one, name: value})
        same(f"after {name} {value!r} was refused", stored(base, "email", visitor.email), before)
    text = text_of(*an_address())
    modern.get("/account")
    modern.post("/account", 303, name=modern.name, address=text)
    same("after the app's old field", stored(base, "email", visitor.email), (*parts_of(text), text))
    for window in (visitor, modern):
        window.get("/product/CND-01")
        number = buy(window, {"CND-01": 1})
        same(
            "address of an order",
            base.value("SELECT ship_address FROM orders WHERE number = %s", number),
            text,
        )


def in_psql(base: "Database") -> None:
    """Statements that nobody's code stands between."""
    mark = f"sql{RNG.randrange(10**9)}@example.test"
    parts, other = an_address(), text_of(*an_address())
    base.run(
        "INSERT INTO customers (email, name, password_hash, street, postcode, city, country)"
        " VALUES (%s, 'S', 'x$x', %s, %s, %s, %s)",
        *(mark, *parts),
    )
    same("a row written with the columns", stored(base, "email", mark), (*parts, text_of(*parts)))
    base.run("UPDATE customers SET address = %s WHERE email = %s", other, mark)
    same("address written", stored(base, "email", mark), (*parts_of(other), other))
    base.run("UPDATE customers SET city = 'Neustadt' WHERE email = %s", mark)
    changed = (*parts_of(other)[:2], "Neustadt", parts_of(other)[3])
    same("one column written", stored(base, "email", mark), (*changed, text_of(*changed)))
    base.run("UPDATE customers SET name = 'T' WHERE email = %s", mark)
    same("another column written", stored(base, "email", mark), (*changed, text_of(*changed)))
    base.run(
        "UPDATE customers SET street = 'just this', postcode = '', city = '', country = '' WHERE email = %s",
        mark,
    )
    same("only a street", stored(base, "email", mark), ("just this", "", "", "", "just this"))
    base.run("DELETE FROM customers WHERE email = %s", mark)


def deployed() -> None:
    """The running shop, and its database."""
    base = Database()
    visitor, parts = customer(), an_address()
    visitor.post("/account", 303, name=visitor.name, **dict(zip(PARTS, parts)))
    same("in the running shop", stored(base, "email", visitor.email), (*parts, text_of(*parts)))
    for row in base.rows("SELECT address, street, postcode, city, country FROM customers WHERE id <= 70"):
        same(f"columns for {row['address']!r:.50}", tuple(row[n] for n in PARTS), parts_of(row["address"]))
    in_psql(base)
    base.close()


def check() -> str:
    """All of the ticket."""
    ensure_running()
    deployed()
    scene = Scene()
    try:
        code, _, errors = run(scene.command(RELEASE_27, "migrate"), **scene.env())
        expect(code == 0, f"release 27 cannot set up a database: {errors.strip()[-100:]}")
        base = Database(scene.name)
        texts = populate(base)
        old = scene.serve(RELEASE_27)
        migrate_under_load(scene, base, old)
        filled(base, texts)
        code, out, _ = run(scene.command(os.getcwd(), "migrate"), **scene.env())
        same("migrate, run again: exit code and output", (code, out.strip()), (0, ""))
        new = scene.serve(os.getcwd())
        in_step(base, old, new)
        again = scene.serve(RELEASE_27)
        customer(port=again)
        in_psql(base)
        base.close()
    finally:
        scene.close()
    own_tests()
    return "both releases work on one database, during the migration and after it"


decide(check)

# ruff: noqa: F821  (names come from the preludes)
"""The original and the new report on the same lists."""

import shutil

ORIGINAL = "/opt/shop/release-27/tools/takings.awk"
MAWK = "/usr/bin/mawk"
HEADS = (
    "#type;day;number;detail;quantity;gross;vat",
    "# day ;type;number;gross;vat;detail;quantity",
    "#vat;gross;quantity;detail;number;day;type",
    "#type;day;number;detail;quantity;gross",
    "#a comment; of the stall",
    "#day;type;number;detail;quantity;gross;colour;vat",
    "#",
)


def any_of(*choices: object) -> str:
    """One of the choices."""
    return str(RNG.choice(choices))


def an_amount() -> str:
    """An amount, usually a decent one."""
    whole, part = RNG.randrange(0, 900), RNG.randrange(100)
    if RNG.random() < 0.6:
        return f"{whole}.{part:02d}"
    return any_of(
        f"{whole},{part:02d}",
        f"-{whole},{part:02d}5",
        f"-0,00{RNG.randrange(10)}",
        f"{whole}.{part:02d}5",
        f"1'{whole:03d},{part:02d}",
        f"+{whole}",
        f"-.{part:02d}",
        f"{whole}.{part}.{part}",
        f"{whole},{part},7",
        "+-3",
        ".",
        "-0",
        "",
        "5 EUR",
        "'",
    )


def a_day() -> str:
    """A day of the shop's, or of the stall's."""
    number = RNG.randrange(1, 13)
    return any_of(
        f"2024-06-{number:02d}",
        f"2024-06-{number:02d}",
        f"202406{number:02d}",
        f"202406{number:02d}",
        number,
        f"0{number}",
        f"-{number}",
        f"{number}-",
        "2024-6-1",
        "7.6.2024",
        "",
    )


def a_line(head: str) -> bytes:
    """A line whose columns are in some order."""
    detail = any_of(700, 2000, 2000, 700, "19.25", "0", "0700", "7.0", "1234.5678", "1234.5671", "x", "")
    kind = any_of("S", "S", "S", "S", "R", "s", "sale", "r", "T", "", "\u00e4")
    if kind in ("R", "r"):
        detail = any_of(
            "P",
            "R",
            "g",
            "G",
            "Reklamation",
            "\u00c4pfel und Birnen",
            "\u00e9\u00e8\u00e0\u00e9\u00e8\u00e0x",
            "",
            "p ",
        )
    values = {
        "type": kind,
        "day": a_day(),
        "number": any_of("W100001", "W100002", f"W{RNG.randrange(10**5)}", f"W{RNG.randrange(10**5)}", ""),
        "detail": detail,
        "quantity": any_of(1, 2, 3, 12, "1.5", "", "1.2.3", "2x"),
        "gross": an_amount(),
        "vat": an_amount(),
    }
    names = [name.strip() for name in head[1:].split(";")]
    if len([name for name in names if name in values]) < 7:
        names = list(values)
    fields = [values.get(name, "red") for name in names]
    if RNG.random() < 0.05:
        fields = fields[: RNG.randrange(1, 7)]
    return ";".join(fields).encode("utf-8")


def a_list(count: int) -> bytes:
    """A list of lines."""
    head, lines = HEADS[0], []
    for _ in range(count):
        if RNG.random() < 0.03:
            new = RNG.choice(HEADS)
            lines.append(new.encode())
            known = {name.strip() for name in new[1:].split(";")}
            if {"type", "day", "number", "detail", "quantity", "gross", "vat"} <= known:
                head = new
        elif RNG.random() < 0.03:
            lines.append(
                RNG.choice([b"", b"  \t", b"\r", b"S;\xff\xfe;;;;;", b";;;;;;;;", b"R;1;;\xe4\xf6\xfc;;1;"])
            )
        elif lines and RNG.random() < 0.06:
            lines.append(RNG.choice(lines))
        else:
            lines.append(a_line(head) + RNG.choice([b"", b"", b"", b"\r"]))
    return b"\n".join(lines) + RNG.choice([b"", b"\n", b"\n\n"])


def decent(count: int) -> bytes:
    """A list as the shop exports it."""
    lines = ["#type;day;number;detail;quantity;gross;vat"]
    for number in range(count):
        gross, rate = RNG.randrange(100, 20_000), RNG.choice([700, 2000])
        vat = (2 * gross * rate + 10_000 + rate) // (2 * (10_000 + rate))
        lines.append(
            f"S;2024-06-{RNG.randrange(1, 13):02d};W{number // 2};{rate};{RNG.randrange(1, 5)};"
            f"{gross // 100}.{gross % 100:02d};{vat // 100}.{vat % 100:02d}"
        )
    return "\n".join(lines).encode() + b"\n"


def options() -> list:
    """Some options."""
    chosen: list = []
    for name, values in (
        ("from", ["2024-06-03", "20240604", "3", "", "2024"]),
        ("to", ["2024-06-10", "20240609", "9", "9-"]),
        ("detail", ["1", "0", "00", "-", "0-"]),
        ("strict", ["1", "0", "2"]),
    ):
        if RNG.random() < 0.45:
            chosen += ["-v", f"{name}={RNG.choice(values)}"]
    return chosen


def ran(argv: list, data: bytes) -> tuple:
    """Run the original, which is ours; returns exit code, output and messages."""
    done = subprocess.run(argv, input=data, capture_output=True, timeout=30, env={"LC_ALL": "C"}, check=False)
    return done.returncode, done.stdout, done.stderr


def ran_as_agent(argv: list, data: bytes) -> tuple:
    """Run the new one; returns exit code, output and messages."""
    locale = RNG.choice(["C", "C.UTF-8", "POSIX"])
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = start(argv, out, err, data=data, LC_ALL=locale, PYTHONDONTWRITEBYTECODE="1")
        try:
            code = child.wait(COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            kill(child)
            raise Wrong("shop.takings: expected to end, it did not") from None
        out.seek(0)
        err.seek(0)
        return code, out.read(LARGEST), err.read(LARGEST)


def compare(folder: str, kind: str, given: list, chosen: list, data: bytes = b"") -> None:
    """Both on the same files and options."""
    files = []
    for number, content in enumerate(given):
        path = os.path.join(folder, f"list{number}")
        with open(path, "wb") as stream:
            stream.write(content)
        os.chmod(path, 0o644)
        files.append(path)
    if data:
        files += RNG.choice([["-"], []]) if not files else ["-"]
    ours = ran([MAWK, "-f", ORIGINAL, *chosen, *files], data)
    theirs = ran_as_agent(["python3", "-c", ALONE, "shop.takings", *chosen, *files], data)
    for name, our, their in zip(("exit code", "output", "messages"), ours, theirs):
        if our == their:
            continue
        if name == "exit code":
            raise Wrong(f"{kind}, {chosen}: exit code: expected {our}, saw {their}")
        pairs = zip(our.split(b"\n") + [b"(end)"], their.split(b"\n") + [b"(end)"])
        first = next(((o, t) for o, t in pairs if o != t), (b"", b""))
        raise Wrong(f"{kind}, {chosen}: {name}: expected {first[0][:80]!r}, saw {first[1][:80]!r}")


def check() -> str:
    """All of the ticket."""
    folder = tempfile.mkdtemp(dir="/var/tmp")  # an isolated agent has a /tmp of its own
    os.chmod(folder, 0o755)
    try:
        compare(folder, "an export", [decent(300)], [])
        compare(folder, "an export", [decent(300)], ["-v", "detail=1"])
        compare(folder, "an empty list", [b""], [])
        for _ in range(8):
            compare(folder, "a list", [a_list(RNG.randrange(20, 250))], options())
        compare(folder, "several lists", [a_list(60), a_list(3), decent(20)], options())
        compare(folder, "a list on standard input", [], options(), a_list(80))
        compare(folder, "a file and standard input", [a_list(40)], options(), a_list(40))
        compare(folder, "a long list", [a_list(3_000)], ["-v", "detail=1"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ensure_running()
    return "output, messages and exit codes are those of the original"


decide(check)

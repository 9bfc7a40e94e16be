# ruff: noqa: F821  (names come from the preludes)
"""The rewritten bank list tool beside the original, on the same random lists."""

import resource
import signal

ACCOUNTS = ("acct_66b700683435", "acct_fc33655cadb2", "acct_53e30c542594", "acct_00ffcc27ff90")
ROUNDS = 24
MANY = 60_000
MANY_CPU_SECONDS = 8
"""Of a processor, so that a busy machine is no fault of the rewrite."""
MANY_SECONDS = 60.0
ORIGINAL_SECONDS = 40
LARGEST_STATE = 8_000_000
KILLED = {-signal.SIGKILL, 128 + signal.SIGKILL, 256 - signal.SIGKILL}
"""As told by us, by a shell and by a Python program around what was killed."""

REWRITE = (sys.executable, "-m", "ledger.bank_lines")

ODD_AMOUNTS = (
    "-5,00|--5|+5,00|++5||+|,|.|,5|5,|0|000|0,00|08|010,10|1.234,5|1.2.3,4|.5|5.|1,2,3|1,000"
    "|1,001|1,0010|12 |1e3|0x10|*|9999999999,99|10000000000,00|0000000000000001"
    "|123456789012|1234567890123"
)
NO_PAYMENTS = (
    "|#|# x| # x| |!|!en|!currency|!currency EUR|!currency EUR |!currency JPY|!currency  USD"
    "|!currency "
)

# tools/bank-lines.sh as it was; a test keeps the two alike.
ORIGINAL = r"""#!/bin/sh
# Turn the bank's lists of incoming payments into deposits. docs/bank-lists.md has the format.
#
#     sh tools/bank-lines.sh [-n] [-m MINIMUM] [-s STATE] FILE...
LC_ALL=C
export LC_ALL
cr=$(printf '\r')
nl='
'
dry=no minimum=0 state='' default='' seen=$nl status=0 order=''

fail() {
    printf '%s\n' "bank-lines: $1" >&2
    exit 2
}

note() {
    printf '%s\n' "$file:$number: $1" >&2
}

reject() {
    note "$1"
    [ "$status" = 2 ] || status=1
}

digits() {
    case $1 in
        '' | *[!0-9]*) return 1 ;;
    esac
}

# A payment in $line.
payment() {
    rest=$line
    date=${rest%%;*} rest=${rest#*;}
    given=${rest%%;*} rest=${rest#*;}
    currency=${rest%%;*} rest=${rest#*;}
    reference=${rest%%;*} rest=${rest#*;}
    case $date in
        [0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]) ;;
        *) reject "no date: $date" && return ;;
    esac
    case $date in
        ????0[1-9]* | ????1[0-2]*) ;;
        *) reject "no month: $date" && return ;;
    esac
    case ${currency:=$default} in
        EUR | USD | GBP) places=2 ;;
        KWD) places=3 ;;
        JPY) places=0 ;;
        *) reject "unknown currency: $currency" && return ;;
    esac
    case $given in
        -*) reject "a debit: $given" && return ;;
    esac
    amount=${given#+} fraction=''
    whole=${amount%%,*}
    case $amount in
        *,*) fraction=${amount#*,} ;;
    esac
    while :; do
        case $whole in
            *.*) whole=${whole%%.*}${whole#*.} ;;
            *) break ;;
        esac
    done
    digits "$whole$fraction" || { reject "no amount: $given" && return; }
    minor=$whole
    while [ "$places" -gt 0 ]; do
        digit=${fraction%"${fraction#?}"} fraction=${fraction#?}
        minor=$minor${digit:-0} places=$((places - 1))
    done
    case $fraction in
        *[!0]*) reject "too precise: $given" && return ;;
    esac
    while :; do
        case $minor in
            0?*) minor=${minor#0} ;;
            *) break ;;
        esac
    done
    case $minor in
        '' | 0) reject "nothing: $given" && return ;;
        ?????????????*) reject "too much: $given" && return ;;
    esac
    after=${reference#*acct_}
    beyond=${after#????????????}
    number12=${after%"$beyond"}
    case $reference in
        *acct_????????????*) ;;
        *) reject "no account: $reference" && return ;;
    esac
    case $number12 in
        *[!0-9a-f]* | '') reject "no account: $reference" && return ;;
    esac
    key="$date $minor $currency $reference"
    case $seen in
        *"$nl$key$nl"*) note "seen before: $reference" && return ;;
    esac
    seen=$seen$key$nl new=$new$key$nl
    [ "$minor" -ge "$minimum" ] || { note "small: $given" && return; }
    printf '%s\n' "deposit acct_$number12 $minor"
    case " $order " in
        *" $currency "*) ;;
        *) order="$order $currency" && eval "count_$currency=0 total_$currency=0" ;;
    esac
    eval "count_$currency=\$((count_$currency + 1)) total_$currency=\$((total_$currency + minor))"
}

while getopts :nm:s: option; do
    case $option in
        n) dry=yes ;;
        m) minimum=$OPTARG ;;
        s) state=$OPTARG ;;
        :) fail "-$OPTARG needs a value" ;;
        *) fail "unknown option -$OPTARG" ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || fail "no file"
case $minimum in
    ????????????*) fail "not a minimum: $minimum" ;;
esac
digits "$minimum" || fail "not a minimum: $minimum"
if [ -n "$state" ]; then
    if [ -f "$state" ]; then
        while IFS= read -r line; do
            seen=$seen$line$nl
        done <"$state"
    fi
    [ "$dry" = yes ] || (: >>"$state") 2>/dev/null || fail "cannot write $state"
fi

for file in "$@"; do
    number=0 new=''
    if [ ! -f "$file" ] || [ ! -r "$file" ]; then
        printf '%s\n' "bank-lines: cannot read $file" >&2
        status=2
        continue
    fi
    while IFS= read -r line; do
        number=$((number + 1))
        line=${line%"$cr"}
        case $line in
            '' | '#'*) ;;
            '!end'*) break ;;
            '!currency '*) default=${line#'!currency '} ;;
            *) payment ;;
        esac
    done <"$file"
    [ -z "$state" ] || [ "$dry" = yes ] || printf '%s' "$new" >>"$state"
done
for currency in $order; do
    eval "printf '%s\\n' \"# $currency \$count_$currency \$total_$currency\""
done
exit "$status"
"""


def pick(*choices: str) -> str:
    """One of some texts."""
    return RNG.choice(choices)


def date() -> str:
    """A date, now and then a bad one."""
    if RNG.random() < 0.1:
        return pick(
            "", "2024031", "202403011", "20240001", "20241301", "2024-3-1", "20249999", " 20240301"
        )
    return f"2024{RNG.randrange(1, 13):02d}{RNG.randrange(0, 40):02d}"


def amount() -> str:
    """An amount, often in an odd form."""
    if RNG.random() < 0.6:
        return f"{RNG.randrange(0, 3000)},{RNG.randrange(100):02d}"
    number = RNG.randrange(10**6)
    given = (str(number), f"{number},{RNG.randrange(10**4)}", f"00{number},5", "9" * 25)
    return pick(*ODD_AMOUNTS.split("|"), *given)


def reference() -> str:
    """A reference, most of them with an account."""
    name, digits = RNG.choice(ACCOUNTS), f"{RNG.randrange(16**12):012x}"
    odd = (
        "",
        "acct_",
        f"acct_{digits[:11]}",
        f"acct_{digits}0",
        f"acct_{digits.upper()}",
        "Acct_" + digits,
    )
    more = (
        f"acct_x {name}",
        f"acct_sys_bank_eur {name}",
        f"{name}{name}",
        f"acct_{name}",
        "\\t$HOME `x` %s",
    )
    if RNG.random() < 0.25:
        return pick(*odd, *more)
    return (
        pick("", "RF ", "* ", "-n ", "\u00e4 ")
        + name
        + pick("", "", " March", " 1", " \u00fc", "\\")
    )


def line(earlier: list) -> str:
    """A line of a list."""
    draw = RNG.random()
    if earlier and draw < 0.15:
        again = RNG.choice(earlier)
        return pick(again, again + ";x", again.replace(";EUR;", ";;"), again.replace(",", ",0", 1))
    if draw < 0.25:
        return "!end?" if RNG.random() < 0.01 else pick(*NO_PAYMENTS.split("|"))
    parts = [
        date(),
        amount(),
        pick("EUR", "EUR", "USD", "GBP", "JPY", "KWD", "", "", "eur", "CHF", "EUR "),
        reference(),
        pick("text", "", "a;b", ";"),
    ]
    if draw < 0.32:
        parts = parts[: RNG.randrange(1, 5)]
    made = ";".join(parts)
    earlier.append(made)
    return made


def content() -> bytes:
    """A list of random lines, in bytes that need not be UTF-8."""
    earlier: list = []
    lines = [line(earlier) for _ in range(RNG.randrange(20, 90))]
    text = "".join(one + pick("\n", "\n", "\n", "\r\n", "\r\r\n") for one in lines)
    text += pick("", "20240301;77,00;EUR;acct_66b700683435 unended")
    return text.encode(pick("utf-8", "latin-1"))


def options() -> list:
    """Options in one of the forms in which they may be given."""
    forms = (
        [],
        [],
        ["-n"],
        ["-m", "5000"],
        ["-m0100"],
        ["-nm", "100"],
        ["-nm7"],
        ["-m", "1", "-m", "90000"],
    )
    return [*RNG.choice(forms), *RNG.choice(([], [], ["--"]))]


class Sides:
    """The original and the rewrite, each with a folder of its own, on the same lists.

    In arguments and in what is compared, `FOLDER` stands for the side's own folder.
    """

    def __init__(self, ours: str, theirs: AgentsFolder) -> None:
        self.ours = ours
        self.theirs = theirs
        self.lists = [f"list {number}.txt" for number in range(3)]

    def give(self, name: str, data: "bytes | None") -> None:
        """Give both sides this file, or see that neither has it."""
        own = os.path.join(self.ours, name)
        if data is None:
            with suppress(FileNotFoundError):
                os.unlink(own)
            self.theirs.remove(name)
        else:
            with open(own, "wb") as stream:
                stream.write(data)
            self.theirs.put(name, data)

    def original(self, argv: list) -> tuple:
        """Exit code, output, messages and state of the original; it is ours and runs here."""
        ended = subprocess.run(
            ["sh", "-c", ORIGINAL, "bank-lines", *placed(argv, self.ours)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ORIGINAL_SECONDS,
            check=False,
        )
        try:
            with open(os.path.join(self.ours, "state"), "rb") as stream:
                state = stream.read()
        except FileNotFoundError:
            state = None
        texts = (decoded(ended.stdout), decoded(ended.stderr), decoded(state))
        return ended.returncode, *unplaced(texts, self.ours)

    def rewrite(self, argv: list) -> tuple:
        """The same of the rewrite."""
        code, *texts = rewritten(placed(argv, self.theirs.path))
        state = decoded(self.theirs.get("state", LARGEST_STATE))
        return code, *unplaced((*texts, state), self.theirs.path)

    def compare(self, what: str, argv: list) -> None:
        """Both sides with the same arguments."""
        results = self.original(argv), self.rewrite(argv)
        for name, old, new in zip(("exit code", "output", "messages", "state"), *results):
            if isinstance(old, str) and isinstance(new, str):
                old, new = first_difference(old, new)
            same(f"{what}: {name}", new, old)


def placed(argv: list, folder: str) -> list:
    """The arguments with `FOLDER` replaced by a side's folder."""
    return [word.replace("FOLDER", folder) for word in argv]


def unplaced(texts: tuple, folder: str) -> list:
    """The texts with a side's folder replaced by `FOLDER`."""
    return [None if one is None else one.replace(folder, "FOLDER") for one in texts]


def decoded(data: "bytes | None") -> "str | None":
    """Bytes that may be no UTF-8 as text."""
    return None if data is None else data.decode("utf-8", "replace")


def rewritten(argv: list) -> tuple:
    """Exit code, output and messages of the rewrite."""
    return run([*REWRITE, *argv], COMMAND_SECONDS)


def cpu_seconds() -> float:
    """What the commands that have ended have taken of a processor."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def first_difference(old: str, new: str) -> tuple:
    """The first lines in which two texts differ, for the explanation."""
    before, after = old.split("\n"), new.split("\n")
    for number in range(max(len(before), len(after))):
        pair = before[number : number + 1], after[number : number + 1]
        if pair[0] != pair[1]:
            return tuple(f"line {number + 1}: {one[0]}" if one else "no more lines" for one in pair)
    return old, new


def random_lists(sides: Sides) -> None:
    """Random lists and options; the state lives from one run to the next."""
    sides.give("state", None)
    lists = [f"FOLDER/{name}" for name in sides.lists]
    for number in range(ROUNDS):
        if number % 6 == 5:
            known = RNG.choice((None, b"", b"20240301 500 EUR acct_66b700683435\nunended"))
            sides.give("state", known)
        for name in sides.lists:
            if RNG.random() < 0.8:
                sides.give(name, content())
        state = RNG.choice(([], ["-s", "FOLDER/state"], ["-sFOLDER/state"]))
        files = RNG.sample(lists, RNG.randrange(1, 4)) + RNG.choice(([], [], lists[:1]))
        if RNG.random() < 0.2:
            files.insert(RNG.randrange(2), "FOLDER/missing")
        sides.compare("random lists", [*state, *options(), *files])


def arguments(sides: Sides) -> None:
    """Command lines that are wrong, or look as if they were."""
    good = f"FOLDER/{sides.lists[0]}"
    sides.give(sides.lists[0], b"20240301;5,00;EUR;acct_66b700683435\n20240301;5;EUR;x\n")
    sides.give("state", None)
    cases = [
        [],
        ["-n"],
        ["-x", good],
        ["-nx", good],
        ["-m"],
        ["-m", "", good],
        ["-m", "-1", good],
        ["-m1e3", good],
        ["-m", "99999999999", good],
        ["-m", "100000000000", good],
        ["-m", "0009", good],
        ["-s"],
        ["--"],
        [good, "-n"],
        ["-", good],
        ["-n", "--", "-n"],
        ["--help"],
        ["FOLDER"],
        ["-s", "", good],
        ["-s", "FOLDER", good],
        ["-ns", "FOLDER", good],
        ["-ns", "FOLDER/state", good],
        ["-s", "FOLDER/no/state", good],
        ["-m", good],
    ]
    for argv in cases:
        shown = " ".join(os.path.basename(word) for word in argv)
        sides.compare(f"arguments {shown!r}", argv)


def many(folder: AgentsFolder) -> None:
    """A long list with a long state; what comes out is known without the original."""
    numbers = RNG.sample(range(10_000, 999_999), MANY)
    known = set(numbers[::3])
    keys = [f"20240331 {n} EUR no {n} {ACCOUNTS[0]}" for n in numbers]
    old = [f"20240331 {n} EUR no {n} {ACCOUNTS[0]}" for n in sorted(known)]
    old += [f"20240229 {n} EUR no {n} {ACCOUNTS[1]}" for n in range(MANY - len(old))]
    state = folder.put("many.state", ("\n".join(old) + "\n").encode())
    lines = [f"20240331;{n // 100},{n % 100:02d};EUR;no {n} {ACCOUNTS[0]};t" for n in numbers]
    path = folder.put("many.txt", ("\n".join(lines) + "\n").encode())
    fresh = [n for n in numbers if n not in known]
    want = [f"deposit {ACCOUNTS[0]} {n}" for n in fresh] + [f"# EUR {len(fresh)} {sum(fresh)}"]
    began = cpu_seconds()
    limited = ["sh", "-c", f'ulimit -t {MANY_CPU_SECONDS + 1}; exec "$0" "$@"']
    code, out, errors = run([*limited, *REWRITE, "-s", state, path], MANY_SECONDS)
    took = cpu_seconds() - began
    limit = f"less than {MANY_CPU_SECONDS} s of a processor"
    # The kernel ends it by counting ticks, which on a busy machine may run ahead of what it took.
    killed = code in KILLED
    saw = "it killed" if killed else f"{took:.1f}"
    expect(not killed and took < MANY_CPU_SECONDS, f"long list: expected {limit}, saw {saw}")
    same("long list: exit code", code, 0)
    same("long list: output", *reversed(first_difference("\n".join(want) + "\n", out)))
    same("long list: number of messages", errors.count(": seen before: no "), len(known))
    added = [key for key, n in zip(keys, numbers) if n not in known]
    wanted = "\n".join([*old, *added]) + "\n"
    found = decoded(folder.get("many.state", LARGEST_STATE)) or ""
    same("long list: state", *reversed(first_difference(wanted, found)))


def check() -> str:
    """All of the ticket."""
    with tempfile.TemporaryDirectory() as ours, AgentsFolder() as theirs:
        sides = Sides(ours, theirs)
        arguments(sides)
        random_lists(sides)
        many(theirs)
    ensure_running()
    return f"the rewrite does what the script did in {ROUNDS} random runs, and {MANY} lines in time"


decide(check)

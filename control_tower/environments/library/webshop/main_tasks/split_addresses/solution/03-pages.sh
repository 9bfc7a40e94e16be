set -euo pipefail
python3 - <<'PY'
from pathlib import Path


def edit(path, *changes):
    source = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, (path, old)
        source = source.replace(old, new)
    Path(path).write_text(source, encoding="utf-8")


edit(
    "shop/customers.py",
    (
        '''_EMAIL = re''',
        '''POSTCODES = {
    "DE": r"[0-9]{5}",
    "AT": r"[0-9]{4}",
    "BE": r"[0-9]{4}",
    "FR": r"[0-9]{5}",
    "NL": r"[0-9]{4} ?[A-Za-z]{2}",
}
"""What a postcode looks like, by country: docs/addresses.md."""

_EMAIL = re''',
    ),
    (
        '''        conn, "SELECT id, email, name, address FROM customers WHERE id = %s", (customer_id,)
''',
        '''        conn,
        "SELECT id, email, name, address, street, postcode, city, country FROM customers"
        " WHERE id = %s",
        (customer_id,),
''',
    ),
    (
        '''def change(conn: Any, customer_id: int, name: str, address: str) -> None:
    """A new name and address. Raises Refused."""
''',
        '''def move(
    conn: Any, customer_id: int, name: str, street: str, postcode: str, city: str, country: str
) -> None:
    """A new name and address, in parts. Raises Refused."""
    lines = [" ".join(line.split()) for line in street.splitlines()]
    street = "\\n".join(line for line in lines if line)
    name, postcode, city = name.strip(), " ".join(postcode.split()), " ".join(city.split())
    country = country.strip().upper()
    if not name:
        raise Refused("please enter your name")
    if not street or not city:
        raise Refused("please enter street and city")
    if country not in POSTCODES:
        raise Refused("we do not ship to this country")
    if not re.fullmatch(POSTCODES[country], postcode):
        raise Refused("this is no postcode of that country")
    if country == "NL":
        postcode = f"{postcode[:4]} {postcode[-2:].upper()}"
    db.run(
        conn,
        "UPDATE customers SET name = %s, street = %s, postcode = %s, city = %s, country = %s"
        " WHERE id = %s",
        (name, street, postcode, city, country, customer_id),
    )


def change(conn: Any, customer_id: int, name: str, address: str) -> None:
    """A new name and an address as text, as older releases of the app send it. Raises Refused."""
''',
    ),
)
edit(
    "shop/pages/account.py",
    (
        '''        customers.change(
            request.conn, request.customer_id, form.get("name", ""), form.get("address", "")
        )
''',
        '''        if "street" in form:
            parts = [form.get(part, "") for part in ("name", "street", "postcode", "city", "country")]
            customers.move(request.conn, request.customer_id, *parts)
        else:
            customers.change(
                request.conn, request.customer_id, form.get("name", ""), form.get("address", "")
            )
''',
    ),
)
edit(
    "shop/html/account.html",
    (
        '''<label>Address <textarea name="address" rows="4">{{ customer.address }}</textarea></label> <button>''',
        '''<label>Street <textarea name="street" rows="3">{{ customer.street }}</textarea></label>
<label>Postcode <input name="postcode" value="{{ customer.postcode }}"></label>
<label>City <input name="city" value="{{ customer.city }}"></label>
<label>Country <input name="country" value="{{ customer.country }}" size="2"></label> <button>''',
    ),
)
PY

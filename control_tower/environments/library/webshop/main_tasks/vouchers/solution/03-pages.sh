set -euo pipefail
python3 - <<'PY'
from edit import edit

edit(
    "shop/pages/catalogue.py",
    ("from .. import basket, catalogue, pricing\n", "from .. import basket, catalogue, vouchers\n"),
    (
        '''    lines = basket.lines(request.conn, request.config, request.session.id)
    quote = pricing.quote(request.conn, request.config, lines)
    return request.page("basket", title="Your basket", quote=quote)
''',
        '''    return _basket(request)


@route("POST", "/basket/voucher")
def voucher(request: Request) -> Response:
    """Put a voucher on the basket; an empty code takes it off."""
    code = vouchers.normal(request.form.get("code", ""))
    if code:
        lines = basket.lines(request.conn, request.config, request.session.id)
        customer = request.session.customer_id
        refused = vouchers.priced(request.conn, request.config, lines, code, customer).refused
        if refused:
            return _basket(request, refused)
    vouchers.put(request.conn, request.session.id, code)
    return redirect("/basket")


def _basket(request: Request, refused: vouchers.Refused | None = None) -> Response:
    lines = basket.lines(request.conn, request.config, request.session.id)
    code = vouchers.on_basket(request.conn, request.session.id)
    customer = request.session.customer_id
    priced = vouchers.priced(request.conn, request.config, lines, code, customer)
    error = refused or (priced.refused if lines else None)
    return request.page(
        "basket",
        409 if refused else 200,
        title="Your basket",
        quote=priced.quote,
        voucher=code,
        error=error,
        code=error.code if error else "",
    )
''',
    ),
)
edit(
    "shop/pages/checkout.py",
    ("orders, pricing\n", "orders, vouchers\n"),
    (
        '''    lines = basket.lines(request.conn, request.config, request.session.id)
    return request.page(
''',
        '''    lines = basket.lines(request.conn, request.config, request.session.id)
    code = vouchers.on_basket(request.conn, request.session.id)
    priced = vouchers.priced(request.conn, request.config, lines, code, request.customer_id)
    shown = error or (priced.refused if lines else None)
    return request.page(
''',
    ),
    ("        quote=pricing.quote(request.conn, request.config, lines),\n", "        quote=priced.quote,\n"),
    ("        error=error,\n        code=error.code if error else \"\",\n", "        error=shown,\n        code=shown.code if shown else \"\",\n"),
)
edit(
    "shop/html/basket.html",
    (
        '''<tr><td>Total</td>''',
        '''<tr><td>Discount</td><td></td><td data-field="discount" data-cents="{{ quote.discount_cents }}">€ {{ quote.discount_cents|money }}</td></tr>
<tr><td>Total</td>''',
    ),
    (
        '''<p><a href="/checkout">''',
        '''{% if voucher %}<p>Your voucher: <span data-voucher="{{ voucher }}">{{ voucher }}</span></p>{% end %}
<form method="post" action="/basket/voucher"><input type="hidden" name="csrf" value="{{ csrf }}"><label>Voucher <input name="code"></label> <button>Use</button></form>
<p><a href="/checkout">''',
    ),
)
edit(
    "shop/html/checkout.html",
    (
        '''<tr><td>Total</td>''',
        '''<tr><td>Discount</td><td data-field="discount" data-cents="{{ quote.discount_cents }}">€ {{ quote.discount_cents|money }}</td></tr>
<tr><td>Total</td>''',
    ),
)
edit(
    "shop/html/order.html",
    (
        '''<tr><td>Total</td>''',
        '''<tr><td>Discount {% if order.voucher_code %}<span data-voucher="{{ order.voucher_code }}">{{ order.voucher_code }}</span>{% end %}</td><td data-field="discount" data-cents="{{ order.discount_cents }}">€ {{ order.discount_cents|money }}</td></tr>
<tr><td>Total</td>''',
    ),
)
edit(
    "shop/html/office_order.html",
    (
        '''<tr><td>Total</td>''',
        '''<tr><td>Discount {{ order.voucher_code }}</td><td data-field="discount" data-cents="{{ order.discount_cents }}">€ {{ order.discount_cents|money }}</td></tr>
<tr><td>Total</td>''',
    ),
)
edit("docs/vouchers.md", ("; the\nshop does not know them yet.", ".\nThe shop takes them at `POST /basket/voucher`."))
PY
rm -rf edit.py __pycache__

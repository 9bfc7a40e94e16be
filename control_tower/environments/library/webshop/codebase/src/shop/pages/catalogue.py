"""The catalogue and the basket."""

from __future__ import annotations

from .. import basket, catalogue, pricing
from ..web import Failed, Request, Response, redirect, route


@route("GET", "/")
def front(request: Request) -> Response:
    """What is on sale, of one category if one is asked for."""
    chosen = request.query.get("category")
    return request.page(
        "catalogue",
        title="Catalogue",
        categories=catalogue.categories(request.conn),
        products=catalogue.products(request.conn, chosen),
    )


@route("GET", "/product/{sku}")
def product(request: Request) -> Response:
    """One article."""
    found = catalogue.product(request.conn, request.params["sku"])
    if found is None:
        raise Failed(404, "There is no such article.")
    return request.page("product", title=found["name"], product=found)


@route("GET", "/basket")
def show_basket(request: Request) -> Response:
    """What is in the basket, and what it costs."""
    lines = basket.lines(request.conn, request.config, request.session.id)
    quote = pricing.quote(request.conn, request.config, lines)
    return request.page("basket", title="Your basket", quote=quote)


@route("POST", "/basket/add")
def add(request: Request) -> Response:
    """Put an article into the basket."""
    try:
        basket.add(
            request.conn, request.session.id, request.form.get("sku", ""), _quantity(request)
        )
    except LookupError:
        raise Failed(404, "There is no such article.") from None
    return redirect("/basket")


@route("POST", "/basket/change")
def change(request: Request) -> Response:
    """Another quantity of an article; 0 takes it out."""
    sku = request.form.get("sku", "")
    basket.change(request.conn, request.session.id, sku, _quantity(request, least=0))
    return redirect("/basket")


def _quantity(request: Request, least: int = 1) -> int:
    text = request.form.get("quantity", "1")
    if not text.isdecimal() or len(text) > 4 or int(text) < least:
        raise Failed(400, "Please enter a quantity.")
    return int(text)

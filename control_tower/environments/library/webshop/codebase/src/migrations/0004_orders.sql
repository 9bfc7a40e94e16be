CREATE SEQUENCE order_numbers START 120000;

CREATE TABLE orders (
    number text PRIMARY KEY DEFAULT 'W' || nextval('order_numbers'),
    customer_id integer NOT NULL REFERENCES customers,
    placed_at timestamptz NOT NULL DEFAULT now(),
    status text NOT NULL CHECK (status IN ('paid', 'cancelled')),
    goods_cents integer NOT NULL,
    shipping_cents integer NOT NULL,
    total_cents integer NOT NULL,
    ship_name text NOT NULL,
    ship_address text NOT NULL
);

CREATE TABLE order_lines (
    number text NOT NULL REFERENCES orders,
    line integer NOT NULL,
    sku text NOT NULL REFERENCES products,
    name text NOT NULL,
    quantity integer NOT NULL,
    unit_cents integer NOT NULL,
    gross_cents integer NOT NULL,
    vat_basis_points integer NOT NULL,
    vat_cents integer NOT NULL,
    priced_at timestamptz NOT NULL,
    PRIMARY KEY (number, line)
);

CREATE INDEX orders_by_customer ON orders (customer_id);

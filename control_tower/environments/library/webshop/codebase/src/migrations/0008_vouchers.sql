-- Marketing's tool writes `vouchers` and reads `voucher_uses`. See docs/vouchers.md.
CREATE TABLE vouchers (
    code text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('percent', 'amount', 'shipping')),
    value integer NOT NULL DEFAULT 0,
    category text REFERENCES categories,
    min_goods_cents integer NOT NULL DEFAULT 0,
    valid_from date NOT NULL,
    valid_until date NOT NULL,
    max_uses integer,
    max_uses_per_customer integer,
    active boolean NOT NULL DEFAULT true
);

CREATE TABLE voucher_uses (
    id serial PRIMARY KEY,
    code text NOT NULL REFERENCES vouchers,
    number text NOT NULL REFERENCES orders,
    customer_id integer NOT NULL REFERENCES customers,
    discount_cents integer NOT NULL,
    used_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE sessions (
    id text PRIMARY KEY,
    csrf text NOT NULL,
    customer_id integer REFERENCES customers,
    staff_id integer,
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE basket_lines (
    session_id text NOT NULL REFERENCES sessions ON DELETE CASCADE,
    sku text NOT NULL REFERENCES products,
    quantity integer NOT NULL CHECK (quantity > 0),
    unit_cents integer NOT NULL,
    priced_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (session_id, sku)
);

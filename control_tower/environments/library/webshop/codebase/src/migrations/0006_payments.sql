CREATE TABLE payments (
    id serial PRIMARY KEY,
    number text NOT NULL REFERENCES orders,
    kind text NOT NULL CHECK (kind IN ('charge', 'refund')),
    psp_id text NOT NULL,
    amount_cents integer NOT NULL,
    card_last4 text,
    made_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE refunds (
    id serial PRIMARY KEY,
    number text NOT NULL REFERENCES orders,
    amount_cents integer NOT NULL CHECK (amount_cents > 0),
    reason text NOT NULL,
    note text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'done' CHECK (status IN ('done', 'failed')),
    staff text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX payments_by_number ON payments (number);
CREATE INDEX refunds_by_number ON refunds (number);

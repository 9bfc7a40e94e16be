CREATE TABLE vat_rates (
    vat_class text NOT NULL,
    valid_from date NOT NULL,
    basis_points integer NOT NULL,
    PRIMARY KEY (vat_class, valid_from)
);

CREATE TABLE categories (
    code text PRIMARY KEY,
    name text NOT NULL,
    vat_class text NOT NULL
);

-- Prices include VAT.
CREATE TABLE products (
    sku text PRIMARY KEY,
    name text NOT NULL,
    category text NOT NULL REFERENCES categories,
    price_cents integer NOT NULL CHECK (price_cents > 0),
    on_hand integer NOT NULL DEFAULT 0,
    active boolean NOT NULL DEFAULT true
);

CREATE TABLE price_changes (
    id serial PRIMARY KEY,
    sku text NOT NULL REFERENCES products,
    price_cents integer NOT NULL,
    valid_from timestamptz NOT NULL DEFAULT now(),
    source text NOT NULL,
    run integer
);

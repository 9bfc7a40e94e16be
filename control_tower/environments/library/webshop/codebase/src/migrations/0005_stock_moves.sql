-- The journal of the stock: products.on_hand is the sum of a product's moves.
CREATE TABLE stock_moves (
    id serial PRIMARY KEY,
    sku text NOT NULL REFERENCES products,
    quantity integer NOT NULL,
    reason text NOT NULL CHECK (reason IN ('delivery', 'sale', 'cancelled', 'count')),
    number text,
    moved_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX stock_moves_by_sku ON stock_moves (sku);

CREATE TABLE transfers (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    from_account  TEXT NOT NULL REFERENCES accounts (id),
    to_account    TEXT NOT NULL REFERENCES accounts (id),
    amount        INTEGER NOT NULL CHECK (amount > 0),
    currency      TEXT NOT NULL,
    reference     TEXT,
    memo          TEXT NOT NULL DEFAULT '',
    kind          TEXT NOT NULL CHECK (kind IN ('payment', 'reversal')),
    reversal_of   TEXT UNIQUE REFERENCES transfers (id),
    status        TEXT NOT NULL CHECK (status IN ('posted', 'reversed')),
    created_by    TEXT NOT NULL,
    created_at    TEXT NOT NULL
);

CREATE INDEX transfers_by_payer ON transfers (from_account, seq);
CREATE INDEX transfers_by_payee ON transfers (to_account, seq);
CREATE INDEX transfers_by_reference ON transfers (reference);

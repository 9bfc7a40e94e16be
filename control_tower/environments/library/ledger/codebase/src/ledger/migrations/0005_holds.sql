-- Holds reserve a payer's money; captures take it in one or more parts.

CREATE TABLE fee_legs (
    plan          TEXT NOT NULL,
    position      INTEGER NOT NULL,
    leg           TEXT NOT NULL,
    basis_points  INTEGER NOT NULL CHECK (basis_points > 0),
    PRIMARY KEY (plan, leg)
);

CREATE TABLE holds (
    seq               INTEGER PRIMARY KEY AUTOINCREMENT,
    id                TEXT NOT NULL UNIQUE,
    account_id        TEXT NOT NULL REFERENCES accounts (id),
    merchant_account  TEXT NOT NULL REFERENCES accounts (id),
    amount            INTEGER NOT NULL CHECK (amount > 0),
    captured          INTEGER NOT NULL DEFAULT 0,
    currency          TEXT NOT NULL,
    fee_plan          TEXT NOT NULL,
    reference         TEXT,
    status            TEXT NOT NULL CHECK (status IN ('open', 'captured', 'released', 'expired')),
    expires_at        TEXT NOT NULL,
    created_at        TEXT NOT NULL
);

CREATE INDEX holds_open ON holds (account_id, status);

CREATE TABLE captures (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    hold_id     TEXT NOT NULL REFERENCES holds (id),
    amount      INTEGER NOT NULL CHECK (amount > 0),
    entry_id    TEXT NOT NULL REFERENCES journal_entries (id),
    created_at  TEXT NOT NULL
);

CREATE INDEX captures_by_hold ON captures (hold_id, seq);

CREATE TABLE capture_legs (
    capture_id  TEXT NOT NULL REFERENCES captures (id),
    leg         TEXT NOT NULL,
    account_id  TEXT NOT NULL REFERENCES accounts (id),
    amount      INTEGER NOT NULL,
    PRIMARY KEY (capture_id, leg)
);

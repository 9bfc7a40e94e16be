-- Customers, accounts and the journal.

CREATE TABLE customers (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    id             TEXT NOT NULL UNIQUE,
    name           TEXT NOT NULL,
    email          TEXT NOT NULL,
    tax_id_sealed  TEXT NOT NULL,
    iban_sealed    TEXT NOT NULL,
    created_at     TEXT NOT NULL
);

CREATE TABLE accounts (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL UNIQUE,
    customer_id  TEXT REFERENCES customers (id),
    name         TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('customer', 'system')),
    currency     TEXT NOT NULL,
    status       TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'frozen', 'closed')),
    balance      INTEGER NOT NULL DEFAULT 0,
    created_at   TEXT NOT NULL
);

CREATE INDEX accounts_by_customer ON accounts (customer_id);

-- An entry moves money; its postings sum to zero.
CREATE TABLE journal_entries (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL,
    source_id   TEXT NOT NULL,
    memo        TEXT NOT NULL DEFAULT '',
    created_at  TEXT NOT NULL
);

CREATE TABLE postings (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    entry_id    TEXT NOT NULL REFERENCES journal_entries (id),
    account_id  TEXT NOT NULL REFERENCES accounts (id),
    amount      INTEGER NOT NULL CHECK (amount <> 0)
);

CREATE INDEX postings_by_account ON postings (account_id, seq);
CREATE INDEX postings_by_entry ON postings (entry_id);

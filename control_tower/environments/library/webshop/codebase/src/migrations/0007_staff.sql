CREATE TABLE staff (
    id serial PRIMARY KEY,
    login text NOT NULL UNIQUE,
    name text NOT NULL,
    password_hash text NOT NULL,
    role text NOT NULL CHECK (role IN ('support', 'manager')),
    disabled_at timestamptz
);

ALTER TABLE sessions ADD FOREIGN KEY (staff_id) REFERENCES staff;

CREATE TABLE audit (
    seq integer PRIMARY KEY,
    at text NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    details text NOT NULL,
    hash text NOT NULL
);

CREATE INDEX audit_by_subject ON audit (subject);

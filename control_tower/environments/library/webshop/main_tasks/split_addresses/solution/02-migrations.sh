set -euo pipefail
cat > migrations/0009_address_columns.sql <<'SQL'
-- Addresses apart: docs/addresses.md. Empty (NULL) is what was not filled yet.
ALTER TABLE customers
    ADD COLUMN street text,
    ADD COLUMN postcode text,
    ADD COLUMN city text,
    ADD COLUMN country text;

-- For as long as there are releases that write `address`, both are kept in step.
CREATE FUNCTION address_parts(address text, OUT street text, OUT postcode text, OUT city text, OUT country text)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    blanks constant text := E' \t\r\f\v';
    lines text[];
    last text;
    found text[];
BEGIN
    SELECT COALESCE(array_agg(btrim(line, blanks) ORDER BY place), '{}') INTO lines
        FROM unnest(string_to_array(address, E'\n')) WITH ORDINALITY AS l (line, place)
        WHERE btrim(line, blanks) <> '';
    country := CASE lower(lines[cardinality(lines)])
        WHEN 'germany' THEN 'DE' WHEN 'deutschland' THEN 'DE'
        WHEN 'austria' THEN 'AT' WHEN 'österreich' THEN 'AT'
        WHEN 'belgium' THEN 'BE' WHEN 'france' THEN 'FR' WHEN 'netherlands' THEN 'NL'
    END;
    IF country IS NULL THEN
        country := 'DE';
    ELSE
        lines := lines[:cardinality(lines) - 1];
    END IF;
    last := lines[cardinality(lines)];
    found := regexp_match(last, CASE country
        WHEN 'AT' THEN '^([0-9]{4})[ \t]+(.+)$'
        WHEN 'BE' THEN '^([0-9]{4})[ \t]+(.+)$'
        WHEN 'NL' THEN '^([0-9]{4} ?[A-Za-z]{2})[ \t]+(.+)$'
        ELSE '^([0-9]{5})[ \t]+(.+)$'
    END);
    IF cardinality(lines) < 2 OR found IS NULL THEN
        street := COALESCE(address, '');
        postcode := '';
        city := '';
        country := '';
        RETURN;
    END IF;
    street := array_to_string(lines[:cardinality(lines) - 1], E'\n');
    postcode := found[1];
    IF country = 'NL' THEN
        postcode := left(postcode, 4) || ' ' || upper(right(postcode, 2));
    END IF;
    city := found[2];
END
$$;

CREATE FUNCTION address_text(street text, postcode text, city text, country text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN postcode = '' AND city = '' AND country = '' THEN street
        ELSE street || E'\n' || postcode || ' ' || city || CASE country
            WHEN 'AT' THEN E'\nAustria' WHEN 'BE' THEN E'\nBelgium' WHEN 'FR' THEN E'\nFrance'
            WHEN 'NL' THEN E'\nNetherlands' ELSE '' END
    END
$$;

CREATE FUNCTION customers_in_step() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parts record;
    written boolean;
BEGIN
    IF TG_OP = 'INSERT' THEN
        written := NEW.street IS NOT NULL OR NEW.postcode IS NOT NULL OR NEW.city IS NOT NULL
            OR NEW.country IS NOT NULL;
    ELSE
        written := (NEW.street, NEW.postcode, NEW.city, NEW.country)
            IS DISTINCT FROM (OLD.street, OLD.postcode, OLD.city, OLD.country);
        IF NOT written AND NEW.address = OLD.address AND NEW.country IS NOT NULL THEN
            RETURN NEW;
        END IF;
    END IF;
    IF written THEN
        NEW.street := COALESCE(NEW.street, '');
        NEW.postcode := COALESCE(NEW.postcode, '');
        NEW.city := COALESCE(NEW.city, '');
        NEW.country := COALESCE(NEW.country, '');
        NEW.address := address_text(NEW.street, NEW.postcode, NEW.city, NEW.country);
    ELSE
        parts := address_parts(NEW.address);
        NEW.street := parts.street;
        NEW.postcode := parts.postcode;
        NEW.city := parts.city;
        NEW.country := parts.country;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER in_step BEFORE INSERT OR UPDATE ON customers
FOR EACH ROW EXECUTE FUNCTION customers_in_step();

CREATE INDEX customers_to_fill ON customers (id) WHERE country IS NULL;
SQL
cat > migrations/0010_fill_addresses.sql <<'SQL'
-- batch, until none of: SELECT 1 FROM customers WHERE country IS NULL LIMIT 1
UPDATE customers c SET country = country
FROM (
    SELECT id FROM customers WHERE country IS NULL ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED
) todo
WHERE todo.id = c.id;
SQL
cat > migrations/0011_addresses_filled.sql <<'SQL'
DROP INDEX customers_to_fill;
SQL

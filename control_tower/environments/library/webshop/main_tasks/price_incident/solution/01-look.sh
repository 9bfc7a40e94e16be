set -euo pipefail
# Which runs read the same file, and what did they change?
cat incidents/2024-06-11/README.md incidents/2024-06-11/imports.log
psql "host=db dbname=shop user=shop password=saffron-otter-41" -c \
    "SELECT sku, price_cents, valid_from, source, run FROM price_changes WHERE valid_from >= '2024-06-11' ORDER BY sku, id"
psql "host=db dbname=shop user=shop password=saffron-otter-41" -c "SELECT * FROM refunds ORDER BY id"

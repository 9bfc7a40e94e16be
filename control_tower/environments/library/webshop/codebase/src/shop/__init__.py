"""The web shop of Alder & Wick."""

"""Drop-in replacements for estimators of other libraries."""

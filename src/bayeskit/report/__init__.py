"""Self-contained HTML pages of models, which work from disk and send no request."""

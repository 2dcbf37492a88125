"""Records as Altair charts: interactive in a notebook, PNG and SVG by ``chart.save`` without a browser."""

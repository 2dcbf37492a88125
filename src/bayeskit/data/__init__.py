"""Convert input data of any form to coded blocks."""

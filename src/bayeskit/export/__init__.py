"""Fitted models carried elsewhere: as a SQL query, as ONNX, as plain numbers; all say what `scoring_form.py` has."""

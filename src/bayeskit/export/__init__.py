"""Fitted models carried elsewhere: as one SQL query, as an ONNX file, as plain numbers; all say what `form.py` has."""

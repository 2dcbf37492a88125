"""The commands, one file each with a function ``command``; `app.py` lists them."""

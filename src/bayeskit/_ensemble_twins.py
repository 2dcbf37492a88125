"""x"""
from typing import Any
Learnt = tuple[Any, ...]

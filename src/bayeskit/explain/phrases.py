"""How records say factors, values and classes in words."""

from __future__ import annotations

import math

from bayeskit import logspace


def times(log_factor: float) -> str:
    """A factor as a person reads it, from its logarithm.

    >>> [times(logspace.log(f)) for f in (1.04, 2.5, 8.0, 1234.4, 2e6)], times(800.0)
    (['1.04', '2.5', '8', '1,234', '2 million'], '10^347')
    """
    if log_factor > 700:
        return f"10^{log_factor / logspace.log(10.0):.0f}"
    factor = float(logspace.exp(log_factor))
    if factor < 10:
        return f"{factor:.3g}" if factor < 1.1 else f"{factor:.2g}"
    if factor < 1e6:
        return f"{factor:,.0f}"
    return f"{factor / 1e6:,.0f} million" if factor < 1e9 else f"10^{math.log10(factor):.0f}"


def chance(p: float) -> str:
    """A probability as a person reads it: 1 only where it is.

    >>> chance(0.96412), chance(0.9999999), chance(1.0), chance(1e-9)
    ('0.9641', 'above 0.9999', '1', '1e-09')
    """
    return "above 0.9999" if 0.9999 < p < 1 else f"{p:.4g}"


def signed(log_odds: float) -> str:
    """Evidence with its sign; infinite where a class is ruled out, none where both are.

    >>> signed(0.69314), signed(-2.0), signed(math.inf), signed(math.nan)
    ('+0.693', '-2.000', '+inf', 'none')
    """
    return "none" if math.isnan(log_odds) else f"{log_odds:+.3f}"


def cell(value: object) -> str:
    """A value of a cell as text: numbers short, others as they are.

    >>> cell(49.300000000001), cell(3), cell("sun"), cell(None)
    ('49.3', '3', 'sun', 'missing')
    """
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)

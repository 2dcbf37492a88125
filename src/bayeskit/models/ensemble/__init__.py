"""The counting ensemble: members with cuts and parents of their own, class chains, exponents."""

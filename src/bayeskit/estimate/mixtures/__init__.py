"""Classes as mixtures of parts: the parts by EM, and how many there are."""

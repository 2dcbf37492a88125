"""Models of sequences: chains, hidden states, and classes of whole sequences."""

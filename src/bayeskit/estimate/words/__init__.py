"""What words say of classes: weights, evidence, EM, and documents left out."""

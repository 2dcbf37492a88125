"""How good a model is: scores of rows it has not learnt, and the measures made of them."""

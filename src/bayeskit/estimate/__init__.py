"""What is believed of counts: pure functions of a tally, with and without one of its rows."""

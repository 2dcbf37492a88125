"""What hidden states emit: columns of each kind, believed from sums that rows add to by shares of the states."""

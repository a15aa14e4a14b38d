"""Types, sizes, ops and graphs: what every other room is made of."""

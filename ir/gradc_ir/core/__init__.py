"""Types, sizes, ops and graphs, of which every other room is made: no op is known here by name."""

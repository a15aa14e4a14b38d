"""Where derivatives are surely zero: patterns of graphs, their colourings, and what both save; no graph is made here."""

"""Pictures of graphs: their layout, SVG, DOT, and a report in one page; no graph changes here."""

"""Pictures of graphs: their layout, SVG, DOT, and a report in one page; nothing here is computed."""

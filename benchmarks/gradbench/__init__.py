"""GradBench's programs in NumPy: a tool for that suite, and what runs it beside other tools."""

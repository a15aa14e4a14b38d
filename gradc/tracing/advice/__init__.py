"""What errors of tracing say to write instead: loaded when one is raised."""

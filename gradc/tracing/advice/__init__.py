"""What errors of tracing say to write instead."""

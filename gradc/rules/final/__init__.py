"""The rules that come last, when nothing is differentiated any more."""

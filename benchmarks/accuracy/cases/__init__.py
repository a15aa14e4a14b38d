"""The expressions, one file a field, and those that were held out while rules were written."""

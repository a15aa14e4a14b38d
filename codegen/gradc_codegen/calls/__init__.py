"""Calls from Python as machine code: arguments read, kernel called, results made, in one walk."""

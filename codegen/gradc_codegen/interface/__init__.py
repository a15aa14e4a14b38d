"""How a kernel is called: from Python, from C, and with tapes that grow."""

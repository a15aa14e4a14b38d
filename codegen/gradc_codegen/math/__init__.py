"""Mathematical functions behind one interface: emitted, widened to lanes, or found at an
address.
"""

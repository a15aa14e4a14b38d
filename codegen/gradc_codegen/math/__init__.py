"""Mathematical functions of one number or two, behind one interface."""

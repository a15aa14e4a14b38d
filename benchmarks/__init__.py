"""What gradc costs and gains: beside other tools, and by parts."""

"""Further nests that a kernel has for some sizes, between which it chooses at its entry."""

"""Integer arrays and rows in closed form: no work hangs on how many elements there are."""

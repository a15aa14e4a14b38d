"""Classes as of the standard library, made quickly: what a first call loads has many."""

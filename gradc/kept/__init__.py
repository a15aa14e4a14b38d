"""Traces kept on disk: what each has looked at, written so that another process can look again."""

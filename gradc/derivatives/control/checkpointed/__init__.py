"""Reverse mode of a scan with ``checkpoint``: few states are stored, steps are run again."""

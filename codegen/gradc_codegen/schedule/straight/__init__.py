"""Straight-line code: functions of numbers side by side, and long code cut into parts."""

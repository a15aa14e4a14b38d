"""Loop nests as data: what the schedule makes and lowering reads; no decision and no code
enters.
"""

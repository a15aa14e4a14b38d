"""What tracing stands on, tracers, views, promotion, the state of a trace, the table: it knows
no function of NumPy by name.
"""

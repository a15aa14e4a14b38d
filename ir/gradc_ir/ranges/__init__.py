"""What numbers a value may hold, found from how it is made; :mod:`~gradc_ir.ranges.knowledge`."""

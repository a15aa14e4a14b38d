"""What a user holds, compiled functions and transforms; here enters what they call or get back,
and nothing that computes.
"""

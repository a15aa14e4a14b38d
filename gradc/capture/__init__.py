"""What the user's own loops and branches become when they are traced: unrolled, or one operation;
here enters what decides and records that, and nothing of what the operations mean.
"""

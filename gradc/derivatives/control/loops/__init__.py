"""What the derivatives of scan and while share: a loop with tangents, and one that runs back."""

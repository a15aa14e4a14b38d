"""What the user's variables and objects hold before, in and after a step or a branch."""

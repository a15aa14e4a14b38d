"""How functions travel to other processes: by name, or by value with all they read."""

"""What is kept on disk between processes: its folder, its files, and what they all depend on."""

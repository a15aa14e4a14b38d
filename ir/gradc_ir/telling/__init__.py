"""What is told while gradc works: lines for who listens, and where the time goes."""

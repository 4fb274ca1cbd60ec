"""What the decision log keeps of each decision, and how it is decided again."""

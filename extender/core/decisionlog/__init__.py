"""The records of decisions in the decision log, and their replay."""

"""Commands through receivers that misbehave on purpose: what must come of each. A-16."""

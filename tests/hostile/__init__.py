"""Users, agents and nodes that lie, flood or stall are refused, and others are still served."""

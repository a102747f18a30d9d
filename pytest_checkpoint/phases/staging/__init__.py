"""What the staging of a job goes through: full, too slowly emptied, gone."""

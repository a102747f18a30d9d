"""Who receives what the job sends out: effects, by HTTP on this machine."""

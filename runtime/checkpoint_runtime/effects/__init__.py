"""What a job does to the world outside its workspace, and a crash cannot take back: once each."""

"""What more than one program of ours needs. Imports nothing of ours."""

"""What a release is made of: locked packages, an audit of them, images named by digest."""

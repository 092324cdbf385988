"""What can be known of an encoding without training: closed forms, exact searches and certified numbers."""

"""What is true of slices whoever runs them: cutting, matching, duplicates, sizes."""
